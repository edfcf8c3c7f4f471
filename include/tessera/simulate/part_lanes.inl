// SPDX-License-Identifier: Apache-2.0
// Bodies of part_lanes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/part_lanes.hpp"

namespace tessera::simulation::detail {

/// Lanes in classes: 0 of those that no part has to itself, else one for each lane of the first two parts, with the
/// images of the second's.
class lane_classes {
public:
    lane_classes(const cluster& on, int parts)
        : on_(on), parts_(parts), in_part_(on.devices() / parts), of_(to_size(on.lanes()), 0),
          part_(to_size(on.lanes()), -1) {}

    /// False where the ways between two devices' images are not images of theirs.
    bool add(int from, int to) {
        const int part = from / in_part_;
        if (to / in_part_ != part) {
            return false;
        }
        const route mine = on_.between(from, to);
        for (int k = part; k < (part == 0 ? 1 : parts_); ++k) {
            const route image = on_.between(from + (k - part) * in_part_, to + (k - part) * in_part_);
            bool alike = image.latency == mine.latency && image.lanes.size() == mine.lanes.size();
            for (int i = 0; alike && i < mine.lanes.size(); ++i) {
                alike = on_.lane_megabytes(image.lanes[i]) == on_.lane_megabytes(mine.lanes[i]) &&
                        add_image(mine.lanes[i], image.lanes[i], part, k);
            }
            if (!alike) {
                return false;
            }
        }
        return true;
    }

    /// Tells lanes apart by what a collective does to them.
    void tell_apart(const cost::collective_cost& c) {
        std::vector<index_t> busy(of_.size(), 0);
        for (const cost::lane_load& l : c.lanes) {
            busy[to_size(l.lane)] = 1 + l.busy; // one that is hardly busy is waited for too
        }
        std::vector<int> order(of_.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            order[i] = static_cast<int>(i);
        }
        const auto key = [&](int l) { return std::pair(of_[to_size(l)], busy[to_size(l)]); };
        std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
        std::vector<int> now(of_.size());
        int number = -1;
        for (std::size_t i = 0; i < order.size(); ++i) {
            number += i == 0 || key(order[i]) != key(order[i - 1]) ? 1 : 0;
            now[to_size(order[i])] = number;
        }
        of_.swap(now);
    }

    /// True where images are still of one class.
    bool holds() const {
        for (const std::vector<int>& all : images_) {
            for (const int l : all) {
                if (l >= 0 && of_[to_size(l)] != of_[to_size(all[0])]) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Of every class a lane that stands for it: the first part's, where it has one.
    std::vector<int> representatives() const {
        std::vector<int> first(2 * of_.size() + 2, -1);
        for (const std::vector<int>& all : images_) {
            first[to_size(of_[to_size(all[0])])] = all[0];
        }
        std::vector<int> r(of_.size());
        for (std::size_t l = 0; l < of_.size(); ++l) {
            int& of_class = first[to_size(of_[l])];
            of_class = of_class < 0 ? static_cast<int>(l) : of_class;
            r[l] = of_class;
        }
        return r;
    }

private:
    bool add_image(int lane, int image, int part, int of_part) {
        if (of_part == part) {
            if (of_[to_size(lane)] == 0) {
                images_.push_back(std::vector<int>(part == 0 ? 1 : to_size(parts_), -1));
                images_.back()[0] = lane;
                of_[to_size(lane)] = static_cast<int>(images_.size());
                part_[to_size(lane)] = part;
            }
            return part_[to_size(lane)] == part;
        }
        const int number = of_[to_size(lane)];
        int& known = images_[to_size(number - 1)][to_size(of_part)];
        if (known < 0 && part_[to_size(image)] < 0) {
            known = image;
            of_[to_size(image)] = number;
            part_[to_size(image)] = of_part;
        }
        return known == image;
    }

    const cluster& on_;
    int parts_ = 1;
    int in_part_ = 1;
    std::vector<int> of_;
    std::vector<int> part_;                ///< that alone sends over the lane, or -1
    std::vector<std::vector<int>> images_; ///< by class: the lane, and by part its images
};

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE part_lanes lanes_of_parts(const cluster& on, int parts, const std::vector<std::pair<int, int>>& pairs,
                                         const std::vector<cost::collective_cost>& collectives) {
    detail::lane_classes classes(on, parts);
    for (const auto& [from, to] : pairs) {
        if (!classes.add(from, to)) {
            return {{},
                    "what device " + std::to_string(from) + " sends to device " + std::to_string(to) +
                        " crosses parts, goes another way in others, or shares a lane with theirs"};
        }
    }
    for (const cost::collective_cost& c : collectives) {
        classes.tell_apart(c);
    }
    if (!classes.holds()) {
        return {{}, "a collective over all parts loads their lanes differently"};
    }
    return {classes.representatives(), ""};
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
