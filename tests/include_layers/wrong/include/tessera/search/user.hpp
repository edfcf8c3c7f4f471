// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/io/files/file.hpp"
#include "tessera/tessera.hpp"
