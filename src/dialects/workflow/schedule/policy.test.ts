import { expect, test } from "vitest";
import { turnout } from "./policy.ts";

const none = { starts: [], replaces: false, skipped: [] };

test.each([
  ["Allow", [1, 2], true, { starts: [1, 2] }],
  [undefined, [1, 2], true, { starts: [1, 2] }],
  ["Forbid", [1, 2], false, { starts: [1], skipped: [2] }],
  ["Forbid", [1, 2], true, { skipped: [1, 2] }],
  ["Queue", [1], false, { starts: [1] }],
  ["Queue", [1, 2, 3], false, { starts: [1], queued: 2, skipped: [3] }],
  ["Queue", [1, 2, 3], true, { queued: 1, skipped: [2, 3] }],
  ["Replace", [1, 2, 3], false, { starts: [3], skipped: [1, 2] }],
  ["Replace", [1, 2, 3], true, { queued: 3, replaces: true, skipped: [1, 2] }],
] as const)("%s of %j, busy: %j", (policy, wanted, isBusy, expected) => {
  expect(turnout(policy, wanted, isBusy)).toEqual({ ...none, ...expected });
});

test.each(["Allow", "Forbid", "Queue", "Replace"] as const)("%s of nothing is nothing", (policy) => {
  expect(turnout(policy, [], true)).toEqual(none);
});
