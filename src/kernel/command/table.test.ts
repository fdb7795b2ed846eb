import { expect, test } from "vitest";
import { fit, formatTable } from "./table.ts";

test("columns line up and lines have no trailing blanks", () => {
  expect(
    formatTable(
      ["NAME", "AGE"],
      [
        ["a", "1s"],
        ["longer", ""],
      ],
    ),
  ).toBe("NAME     AGE\na        1s\nlonger\n");
});

test("wide characters count double", () => {
  expect(formatTable(["N", "X"], [["日本", "y"]])).toBe("N      X\n日本   y\n");
});

test("a line that does not fit ends in an ellipsis", () => {
  expect(fit("abcdef", 4)).toBe("abc…");
  expect(fit("abcd", 4)).toBe("abcd");
  expect(fit("日本語", 5)).toBe("日本…");
});
