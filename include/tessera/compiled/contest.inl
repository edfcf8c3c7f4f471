// SPDX-License-Identifier: Apache-2.0
// For one source of a program that is compiled with TESSERA_COMPILED. Written by tests/user_builds/headers.py.
#include "tessera/io/exchange/contest_file.inl"
#include "tessera/io/exchange/layer_profile_file.inl"
