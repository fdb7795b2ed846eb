import { expect, test } from "vitest";
import { type CloneRequest, cloneSteps } from "./clone-steps.ts";

const source = { url: "https://example.org/a.git", scheme: "https" } as const;
const words = (more: Partial<CloneRequest> = {}) =>
  cloneSteps({ source, directory: "/d", ...more }).map((step) =>
    [step.words, ...(step.otherwise ?? [])].map((each) => each.slice(4).join(" ")),
  );

test("a branch, or the one that the repository says", () => {
  expect(words()).toEqual([["clone --single-branch -- https://example.org/a.git /d"]]);
  expect(words({ branch: "b" })).toEqual([["clone --single-branch --branch b -- https://example.org/a.git /d"]]);
  expect(words({ branch: "b", ref: "refs/heads/c/d" })).toEqual([
    ["clone --single-branch --branch c/d -- https://example.org/a.git /d"],
  ]);
});

test("a tag is fetched by its full name: a branch may be called the same", () => {
  expect(words({ branch: "v1", ref: "refs/tags/v1" })).toEqual([
    ["init --quiet -- /d"],
    ["-C /d remote add -- origin https://example.org/a.git"],
    ["-C /d fetch --no-tags -- origin +refs/tags/v1:refs/tags/v1"],
    ["-C /d checkout --quiet --detach refs/tags/v1"],
  ]);
});

test("a commit wins over all others, and is looked for everywhere when it is not given out by itself", () => {
  const [, , fetch, checkout] = words({ branch: "b", ref: "refs/tags/t", commit: "abc" });
  expect(fetch).toEqual([
    "-C /d fetch --no-tags -- origin abc",
    "-C /d fetch --tags -- origin +refs/heads/*:refs/remotes/origin/*",
  ]);
  expect(checkout).toEqual(["-C /d checkout --quiet --detach abc"]);
});

test("a token is in no word, and its helper is for the host alone", () => {
  const text = JSON.stringify(cloneSteps({ source, directory: "/d", token: "hunter2" }));
  expect(text).not.toContain("hunter2");
  expect(text).toContain("credential.https://example.org.helper=!f()");
  const ssh = { url: "git@example.org:a", scheme: "ssh" } as const;
  expect(JSON.stringify(cloneSteps({ source: ssh, directory: "/d", token: "hunter2" }))).not.toContain("credential");
});
