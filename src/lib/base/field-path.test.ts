import { expect, test } from "vitest";
import { formatFieldPath } from "./index.ts";

test.each([
  [[], ""],
  [["spec"], "spec"],
  [["spec", "steps", "build-it", "dependencies", 0], "spec.steps.build-it.dependencies[0]"],
  [["metadata", "labels", "app.kubernetes.io/name"], "metadata.labels[app.kubernetes.io/name]"],
  [[0, "a"], "[0].a"],
])("the path %j reads %s", (path, text) => {
  expect(formatFieldPath(path)).toBe(text);
});
