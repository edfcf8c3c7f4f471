# SPDX-License-Identifier: Apache-2.0
"""Builds and runs a program for each component that the package has, of those in tests/package."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    test_type = "explicit"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.build_folder_vars = ["settings.build_type"]
        cmake_layout(self)

    def parts(self):
        options = self.dependencies["tessera"].options
        parts = [part for part in ("host", "io", "mpi") if options.get_safe(part) == "True"]
        tools = ["placement", "certified", "learned"] + (["contest"] if "io" in parts else []) + (["onnx", "torch_export"] if options.get_safe("json") == "True" else [])
        return ["core"] + (parts if "host" in parts else ["execute"] + parts) + tools

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.cache_variables["PARTS"] = ";".join(self.parts())
        toolchain.cache_variables["VERSION"] = str(self.dependencies["tessera"].ref.version)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            for part in self.parts():
                self.run(os.path.join(self.cpp.build.bindir, f"uses_{part}"), env="conanrun")
