import { expect, test } from "vitest";
import { collectProblems, mostProblems } from "./problems.ts";

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

test("of very many findings the first thousand are kept, and the others are counted by one", () => {
  let places = 0;
  const found = collectProblems(() => {
    places += 1;
    return { line: 1, column: 1 };
  });
  for (let n = 0; n < mostProblems; n++) found.warn(["a", n], "odd", "is odd");
  expect(found.problems).toHaveLength(mostProblems);
  found.warn(["b"], "odd", "is odd");
  expect(found.problems.at(-1)).toEqual({
    severity: "warning",
    code: "more-problems",
    message: "1 more problem is not shown",
    path: "",
  });
  found.error(["c"], "wrong", "is wrong");
  found.warn(["d"], "odd", "is odd");
  // One error among them makes the whole an error: otherwise a document would pass for having too many mistakes.
  expect(found.problems.at(-1)).toMatchObject({ severity: "error", message: "3 more problems are not shown" });
  expect(found.problems).toHaveLength(mostProblems + 1);
  expect(places).toBe(mostProblems);
});
