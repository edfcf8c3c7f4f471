// SPDX-License-Identifier: Apache-2.0
// clang-format off
// Included before the program by build.py: macros as users' headers have them, by headers.py. The program's own headers come first.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#define min(a, b) ((a) tessera_used_macro (b))
#define max(a, b) ((a) tessera_used_macro (b))
#define require tessera used a macro
#define check tessera used a macro
#define verify tessera used a macro
#define ERROR tessera used a macro
#define DEBUG tessera used a macro
#define INFO tessera used a macro
#define WARNING tessera used a macro
#define FATAL tessera used a macro
#define LOG tessera used a macro
#define CHECK tessera used a macro
#define T tessera used a macro
#define N tessera used a macro
#define I tessera used a macro
#define B tessera used a macro
#define F tessera used a macro
#define U tessera used a macro
#define PI tessera used a macro
#define SIZE tessera used a macro
#define emit tessera used a macro
#define slots tessera used a macro
#define signals tessera used a macro
#define foreach tessera used a macro
#define forever tessera used a macro
#define major tessera used a macro
#define minor tessera used a macro
#define makedev tessera used a macro
#define linux tessera used a macro
#define unix tessera used a macro
#define small tessera used a macro
#define near tessera used a macro
#define far tessera used a macro
#define interface tessera used a macro
#define Success tessera used a macro
#define None tessera used a macro
#define Bool tessera used a macro
#define Status tessera used a macro
#define Always tessera used a macro
#define Complex tessera used a macro
#define True tessera used a macro
#define False tessera used a macro
#define TRUE tessera used a macro
#define FALSE tessera used a macro
#define YES tessera used a macro
#define NO tessera used a macro
#define OK tessera used a macro
#define FAILURE tessera used a macro
#define SUCCESS tessera used a macro
#define length tessera used a macro
#define error tessera used a macro
#define warning tessera used a macro
#define bit tessera used a macro
#define round tessera used a macro
#define sq tessera used a macro
#define word tessera used a macro
#define abs tessera used a macro
#define square tessera used a macro
#define swap tessera used a macro
#define likely tessera used a macro
#define unlikely tessera used a macro
#define IN tessera used a macro
#define OUT tessera used a macro
#define OPTIONAL tessera used a macro
#define VOID tessera used a macro
