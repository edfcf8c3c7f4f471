// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"

#include <csignal>

namespace planner {

namespace {

std::atomic<bool> asked = false;
static_assert(std::atomic<bool>::is_always_lock_free); // or a signal handler may not touch it

extern "C" void on_interrupt(int) {
    asked = true;
    std::signal(SIGINT, SIG_DFL); // the next one ends the program
}

} // namespace

interruptible::interruptible() { std::signal(SIGINT, on_interrupt); }
interruptible::~interruptible() { std::signal(SIGINT, SIG_DFL); }
const std::atomic<bool>& interruptible::flag() { return asked; }

} // namespace planner
