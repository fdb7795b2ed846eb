import fc from "fast-check";
import { expect, test } from "vitest";
import { parseLine, type Style } from "./ansi.ts";

const parts = fc.array(
  fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "\x1b",
      "\x1b[",
      "\x1b]",
      "\x1b[0m",
      "\x9b",
      "\r",
      "\x07",
      "<script>",
      "38;5;",
      "48;2;1;2;3m",
      ";",
      "m",
      "\t",
      "\u202e",
    ),
    fc.array(fc.integer({ min: 0, max: 300 })).map((codes) => `\x1b[${codes.join(";")}m`),
  ),
);

const isSound = ({ text = 0, ground = 0 }: Style): boolean =>
  [text, ground].every((colour) => Number.isInteger(colour) && colour >= 0 && colour < 16);

test("whatever a program writes, what is left is text without controls in colours of the theme", () => {
  fc.assert(
    fc.property(parts, (written) => {
      const { pieces, style } = parseLine(written.join(""));
      for (const piece of pieces) {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be left.
        expect(piece.text).not.toMatch(/[\0-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
        expect(piece.text).not.toBe("");
        expect(isSound(piece.style)).toBe(true);
      }
      expect(isSound(style)).toBe(true);
    }),
  );
});

test("text without controls is left as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the precondition of the law.
      fc.pre(!/[\0-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(text));
      expect(
        parseLine(text)
          .pieces.map((piece) => piece.text)
          .join(""),
      ).toBe(text);
    }),
  );
});
