import { expect, test } from "vitest";
import { nativeSteps, restartTime } from "./native.ts";

test.each([
  [{ after: "2d" }, "1970-01-03T00:00:00.000Z"],
  [{ after: "90s" }, "1970-01-01T00:01:30.000Z"],
  [{ every: "1d" }, "1d"],
  [{ after: "soon" }, undefined],
  [{ after: "1h", every: "1h" }, undefined],
])("restart-workflow with %j restarts at %s", (parameter, expected) => {
  expect(restartTime(parameter, 0)).toBe(expected);
});

test("depends-on-app is a definition, which others may replace", () => {
  expect(nativeSteps["depends-on-app"]).toBeUndefined();
});
