// SPDX-License-Identifier: Apache-2.0
// Mutants that are turned on by the environment, so that one build holds many of them: mutants.py writes these names
// into copies of headers. Constant evaluation sees none of them; with TESSERA_MUTANTS_ASKED it stops at those listed
// there.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

extern "C" {
extern int tessera_mutant;                     // the number of the one that is on
extern unsigned char tessera_reached[1 << 16]; // which have been asked for
}

namespace tessera_mutants {

#ifdef TESSERA_MUTANTS_ASKED
inline constexpr int asked[] = {TESSERA_MUTANTS_ASKED};
inline void constant_evaluation_reaches() {}
#endif

constexpr bool on(int number) {
    if (std::is_constant_evaluated()) {
#ifdef TESSERA_MUTANTS_ASKED
        for (const int a : asked) {
            if (a == number) {
                constant_evaluation_reaches();
            }
        }
#endif
        return false;
    }
    tessera_reached[number] = 1;
    return tessera_mutant == number;
}

// `a + b` becomes `a + plus<number>{} + b`: the operators group as before.
#define TESSERA_MUTANT_PAIR(kind, usual, other)                                                                        \
    template <int number>                                                                                              \
    struct kind {                                                                                                      \
        template <class L>                                                                                             \
        struct left {                                                                                                  \
            L&& value;                                                                                                 \
            template <class R>                                                                                         \
            friend constexpr auto operator usual(left l, R&& r) {                                                      \
                using result = std::remove_cvref_t<decltype(static_cast<L&&>(l.value) usual static_cast<R&&>(r))>;     \
                return on(number) ? static_cast<result>(static_cast<L&&>(l.value) other static_cast<R&&>(r))           \
                                  : static_cast<result>(static_cast<L&&>(l.value) usual static_cast<R&&>(r));          \
            }                                                                                                          \
        };                                                                                                             \
        template <class L>                                                                                             \
        friend constexpr left<L> operator usual(L&& l, kind) {                                                         \
            return {static_cast<L&&>(l)};                                                                              \
        }                                                                                                              \
    };
TESSERA_MUTANT_PAIR(plus, +, -)
TESSERA_MUTANT_PAIR(minus, -, +)
TESSERA_MUTANT_PAIR(times, *, +)
TESSERA_MUTANT_PAIR(over, /, *)
TESSERA_MUTANT_PAIR(modulo, %, /)
TESSERA_MUTANT_PAIR(less, <, <=)
TESSERA_MUTANT_PAIR(less_or_equal, <=, <)
TESSERA_MUTANT_PAIR(greater, >, >=)
TESSERA_MUTANT_PAIR(greater_or_equal, >=, >)
TESSERA_MUTANT_PAIR(equal, ==, !=)
TESSERA_MUTANT_PAIR(unequal, !=, ==)
#undef TESSERA_MUTANT_PAIR

// `a += b` becomes `a += add<number>{} += b`, which groups from the right.
#define TESSERA_MUTANT_ASSIGNMENT(kind, usual, other)                                                                  \
    template <int number>                                                                                              \
    struct kind {                                                                                                      \
        template <class R>                                                                                             \
        struct right {                                                                                                 \
            R&& value;                                                                                                 \
            template <class L>                                                                                         \
            friend constexpr L& operator usual(L& l, right r) {                                                        \
                on(number) ? void(l other static_cast<R&&>(r.value)) : void(l usual static_cast<R&&>(r.value));        \
                return l;                                                                                              \
            }                                                                                                          \
        };                                                                                                             \
        template <class R>                                                                                             \
        constexpr right<R> operator usual(R&& r) const {                                                               \
            return {static_cast<R&&>(r)};                                                                              \
        }                                                                                                              \
    };
TESSERA_MUTANT_ASSIGNMENT(add, +=, -=)
TESSERA_MUTANT_ASSIGNMENT(subtract, -=, +=)
#undef TESSERA_MUTANT_ASSIGNMENT

// `++a` becomes `up<number>{}->*a`.
template <int number>
struct up {
    template <class T>
    friend constexpr T& operator->*(up, T& value) {
        on(number) ? void(--value) : void(++value);
        return value;
    }
};

template <int number, class T>
constexpr const T& max(const T& a, const T& b) {
    return on(number) ? std::min(a, b) : std::max(a, b);
}
template <int number, class T>
constexpr const T& min(const T& a, const T& b) {
    return on(number) ? std::max(a, b) : std::min(a, b);
}

} // namespace tessera_mutants

#ifdef TESSERA_MUTANTS_MAIN
#include <cstdio>
#include <cstdlib>

extern "C" {
int tessera_mutant = -1;
unsigned char tessera_reached[1 << 16];
}
[[gnu::constructor(101)]] static void read_mutant() {
    if (const char* number = std::getenv("TESSERA_MUTANT")) {
        tessera_mutant = std::atoi(number);
    }
}
[[gnu::destructor(101)]] static void write_reached() {
    const char* name = std::getenv("TESSERA_REACHED");
    if (std::FILE* file = name != nullptr ? std::fopen(name, "w") : nullptr) {
        for (int i = 0; i < 1 << 16; ++i) {
            if (tessera_reached[i] != 0) {
                std::fprintf(file, "%d\n", i);
            }
        }
        std::fclose(file);
    }
}
#endif
