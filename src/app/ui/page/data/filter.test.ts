import { expect, test } from "vitest";
import { formatFilter, parseFilter, queryOf, togglePhase } from "./filter.ts";

test("tokens and text become a filter, and a filter becomes the same line", () => {
  const line = "phase:failed,running dialect:wharf ns:prod label:team=a some text";
  const filter = parseFilter(line);
  expect(filter).toMatchObject({ phase: ["Failed", "Running"], dialect: ["wharf"], namespace: ["prod"], text: "some text" });
  expect(formatFilter(filter)).toBe(line);
  expect(queryOf(filter)).toEqual({ phase: "Failed,Running", dialect: "wharf", namespace: "prod", label: "team=a", text: "some text" });
});

test("what is no token is text", () => {
  expect(parseFilter("http://x constructor:y").text).toBe("http://x constructor:y");
});

test("a phase is switched on and off", () => {
  const on = togglePhase(parseFilter("x"), "Failed");
  expect(formatFilter(on)).toBe("phase:failed x");
  expect(formatFilter(togglePhase(on, "Failed"))).toBe("x");
});
