# SPDX-License-Identifier: BSD-3-Clause
"""Draws a folder of pictures to train on, of letters and digits that look
alike: letters.py FOLDER [OF-EACH].  Each is turned, blurred and noisy, and the
same on every machine with the same Pillow.  docs/tools.md trains on it."""
import os
import random
import sys

from PIL import Image, ImageDraw, ImageFilter, ImageFont

CLASSES = {"zero": "0", "eight": "8", "b": "B", "d": "D", "o": "O", "q": "Q"}
SIDE = 128


def draw(letter, rng):
    paper, ink = rng.randrange(150, 256), rng.randrange(0, 110)
    picture = Image.new("L", (SIDE, SIDE), paper)
    font = ImageFont.load_default(rng.randrange(70, 110))
    place = [SIDE // 2 + rng.randrange(-14, 15) for _ in range(2)]
    ImageDraw.Draw(picture).text(place, letter, ink, font, anchor="mm")
    picture = picture.rotate(rng.uniform(-25, 25), Image.Resampling.BILINEAR,
                             fillcolor=paper)
    picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(1, 5)))
    picture = picture.resize((SIDE // 4, SIDE // 4))
    noise = Image.frombytes("L", picture.size,
                            rng.randbytes(picture.width * picture.height))
    return Image.blend(picture, noise, rng.uniform(0.05, 0.35))


def main():
    folder, n = sys.argv[1], int((sys.argv + ["300"])[2])
    rng = random.Random(1)
    for name, letter in CLASSES.items():
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        for i in range(n):
            draw(letter, rng).save(f"{folder}/{name}/{i:04d}.png")


if __name__ == "__main__":
    main()
