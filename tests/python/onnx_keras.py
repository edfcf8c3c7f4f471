# SPDX-License-Identifier: Apache-2.0
"""Keras models as ONNX files by tf2onnx, each with a batch and what Keras itself makes of it (NAME.keras): see onnx_models.py.

Usage: onnx_keras.py FOLDER. It needs tensorflow and tf2onnx.
"""

import pathlib
import sys

import numpy as np
from onnx_models import write_safetensors


def keras_networks():
    import keras
    from keras import layers

    small = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3, strides=2, padding="same"),
            layers.LeakyReLU(),
            layers.Flatten(),
            layers.Dense(32, activation="silu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    return {
        "keras_small": (small, (28, 28, 1)),
        "keras_mobilenet_v2": (keras.applications.MobileNetV2(weights=None, input_shape=(64, 64, 3), classes=10), (64, 64, 3)),
        "keras_resnet50": (keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10), (64, 64, 3)),
    }


def main():
    import keras
    import tensorflow
    import tf2onnx

    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    for name, (model, sample) in keras_networks().items():
        for w in model.weights:  # biases and statistics that are not what they are where nothing was trained
            if w.name in ("bias", "beta", "moving_mean"):
                w.assign(rng.normal(0, 0.1, w.shape))
            elif w.name == "moving_variance":
                w.assign(rng.uniform(0.5, 2, w.shape))
        signature = [tensorflow.TensorSpec((None, *sample), tensorflow.float32, name="input")]
        run = tensorflow.function(lambda x, m=model: m(x, training=False), input_signature=signature)
        tf2onnx.convert.from_function(run, input_signature=signature, opset=18, output_path=str(folder / f"{name}.onnx"))
        x = np.random.default_rng(0).standard_normal((3, *sample)).astype(np.float32)
        write_safetensors(folder / f"{name}.batch", {"input": x})
        write_safetensors(folder / f"{name}.keras", {"result": np.asarray(model(x, training=False))})
        print(name, flush=True)


if __name__ == "__main__":
    main()
