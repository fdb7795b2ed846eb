import { expect, test } from "vitest";
import { repositoryName } from "./git-variables.ts";

test.each([
  ["git@h:a/b.git", "a", "b"],
  ["ssh://git@h/a/b.git", "a", "b"],
  ["ssh://git@h:22/a/b.git", "a", "b"],
  ["https://h/a/b", "a", "b"],
  ["https://h/a/b/", "a", "b"],
  ["git@h:v3/a/b/c", "a/b", "c"],
  ["https://u@h/a/b/_git/c", "a/b", "c"],
  ["https://h/a/b/c.git", "a/b", "c"],
  ["https://u:p@h:8443/a/b.git?x=1", "a", "b"],
  ["host:a/b.git\n", "a", "b"],
])("%j is %s/%s", (url, group, name) => {
  expect(repositoryName(url)).toEqual({ group, name });
});

test.each([
  "",
  "/srv/git/a/b.git",
  "../b",
  "file:///srv/a/b.git",
  "https://h/b",
  "git@h:b.git",
  "C:\\a\\b",
  "https://h",
])("%j says no group", (url) => {
  expect(repositoryName(url)).toBeUndefined();
});
