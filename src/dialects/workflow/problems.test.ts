import { expect, test } from "vitest";
import { collectProblems } from "./problems.ts";

test("findings keep their order, their severity and their place", () => {
  const found = collectProblems(() => ({ line: 3, column: 7 }));
  found.error(["spec"], "one", "is wrong", "do right");
  found.warn(["spec", "x"], "two", "is odd");
  expect(found.problems).toEqual([
    {
      severity: "error",
      code: "one",
      message: "is wrong",
      path: "spec",
      position: { line: 3, column: 7 },
      hint: "do right",
    },
    { severity: "warning", code: "two", message: "is odd", path: "spec.x", position: { line: 3, column: 7 } },
  ]);
});
