// SPDX-License-Identifier: Apache-2.0
// clang-format off
// At the beginning of every header; end_header.inl is at its end. Both are written by tests/user_builds/headers.py. What another header includes
// finds all this done.
#pragma push_macro("TESSERA_IN_HEADER")
#ifndef TESSERA_IN_HEADER
#define TESSERA_IN_HEADER

// Floating-point numbers as IEEE 754 has them, whatever the user's flags say of them (-ffast-math, -Ofast): kernels round by adding and subtracting a large
// number, and NaN is found. clang from 15 on keeps -ffinite-math-only in what conditions choose and functions take, which no pragma ends.
#if defined(__clang__)
#if __clang_major__ >= 15 && defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "tessera: -ffinite-math-only, a part of -ffast-math and -Ofast, hides numbers that are not finite from clang; add -fno-finite-math-only behind it"
#endif
#if defined(__x86_64__) && !defined(__CUDACC__)
#pragma float_control(precise, on, push)
#endif
#elif defined(__GNUC__) && (defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__))
#pragma GCC push_options
#pragma GCC optimize("no-fast-math")
#endif

// Before each body in a .inl: header-only, or in the one program part that defines them all (TESSERA_COMPILED, tessera::compiled).
#ifndef TESSERA_INLINE
#ifdef TESSERA_COMPILED
#define TESSERA_INLINE
#else
#define TESSERA_INLINE inline
#endif
#endif

// Macros of users' headers by names that the library uses.
#pragma push_macro("min")
#undef min
#pragma push_macro("max")
#undef max
#pragma push_macro("require")
#undef require
#pragma push_macro("check")
#undef check
#pragma push_macro("verify")
#undef verify
#pragma push_macro("ERROR")
#undef ERROR
#pragma push_macro("DEBUG")
#undef DEBUG
#pragma push_macro("INFO")
#undef INFO
#pragma push_macro("WARNING")
#undef WARNING
#pragma push_macro("FATAL")
#undef FATAL
#pragma push_macro("LOG")
#undef LOG
#pragma push_macro("CHECK")
#undef CHECK
#pragma push_macro("T")
#undef T
#pragma push_macro("N")
#undef N
#pragma push_macro("I")
#undef I
#pragma push_macro("B")
#undef B
#pragma push_macro("F")
#undef F
#pragma push_macro("U")
#undef U
#pragma push_macro("PI")
#undef PI
#pragma push_macro("SIZE")
#undef SIZE
#pragma push_macro("emit")
#undef emit
#pragma push_macro("slots")
#undef slots
#pragma push_macro("signals")
#undef signals
#pragma push_macro("foreach")
#undef foreach
#pragma push_macro("forever")
#undef forever
#pragma push_macro("major")
#undef major
#pragma push_macro("minor")
#undef minor
#pragma push_macro("makedev")
#undef makedev
#pragma push_macro("linux")
#undef linux
#pragma push_macro("unix")
#undef unix
#pragma push_macro("small")
#undef small
#pragma push_macro("near")
#undef near
#pragma push_macro("far")
#undef far
#pragma push_macro("interface")
#undef interface
#pragma push_macro("Success")
#undef Success
#pragma push_macro("None")
#undef None
#pragma push_macro("Bool")
#undef Bool
#pragma push_macro("Status")
#undef Status
#pragma push_macro("Always")
#undef Always
#pragma push_macro("Complex")
#undef Complex
#pragma push_macro("True")
#undef True
#pragma push_macro("False")
#undef False
#pragma push_macro("TRUE")
#undef TRUE
#pragma push_macro("FALSE")
#undef FALSE
#pragma push_macro("YES")
#undef YES
#pragma push_macro("NO")
#undef NO
#pragma push_macro("OK")
#undef OK
#pragma push_macro("FAILURE")
#undef FAILURE
#pragma push_macro("SUCCESS")
#undef SUCCESS
#pragma push_macro("length")
#undef length
#pragma push_macro("error")
#undef error
#pragma push_macro("warning")
#undef warning
#pragma push_macro("bit")
#undef bit
#pragma push_macro("round")
#undef round
#pragma push_macro("sq")
#undef sq
#pragma push_macro("word")
#undef word
#pragma push_macro("abs")
#undef abs
#pragma push_macro("square")
#undef square
#pragma push_macro("swap")
#undef swap
#pragma push_macro("likely")
#undef likely
#pragma push_macro("unlikely")
#undef unlikely
#pragma push_macro("IN")
#undef IN
#pragma push_macro("OUT")
#undef OUT
#pragma push_macro("OPTIONAL")
#undef OPTIONAL
#pragma push_macro("VOID")
#undef VOID
#endif
