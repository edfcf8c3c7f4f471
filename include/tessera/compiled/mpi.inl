// SPDX-License-Identifier: Apache-2.0
// For one source of a program that is compiled with TESSERA_COMPILED. Written by tests/user_builds/headers.py.
#include "tessera/ranks/late_launcher.inl"
#include "tessera/ranks/leftovers.inl"
#include "tessera/ranks/mpi.inl"
#include "tessera/ranks/mpi_calls.inl"
#include "tessera/ranks/siblings.inl"
#include "tessera/ranks/supervisor.inl"
#include "tessera/ranks/transport.inl"
#include "tessera/ranks/watchdog.inl"
