import { expect, test } from "vitest";
import { checkName, contentTypeOf, fileNameOf } from "./artifact-name.ts";

test.each([
  ["a/b.png", "b.png"],
  ["../../x", "x"],
  ["a/..", "__"],
  ["CON", "CON"],
  ["dir/", "dir"],
  ["C:\\temp\\a?.txt", "a_.txt"],
  ["tab\tand\nline", "tab_and_line"],
  ["ends. ", "ends__"],
  ["/", "_"],
  ["x".repeat(300), "x".repeat(120)],
  [`${"x".repeat(119)}ä`, "x".repeat(119)],
])("the file of %s", (name, expected) => {
  expect(fileNameOf(name)).toBe(expected);
});

test("names that cannot be written down are refused", () => {
  for (const name of ["", "a\0b", "x".repeat(4097)]) expect(() => checkName(1, name)).toThrow("artifact of step 1");
  checkName(1, "x".repeat(4096));
});

test("what a file is, its ending says", () => {
  expect(["A.PNG", "a.constructor", "a"].map(contentTypeOf)).toEqual([
    "image/png",
    "application/octet-stream",
    "application/octet-stream",
  ]);
});
