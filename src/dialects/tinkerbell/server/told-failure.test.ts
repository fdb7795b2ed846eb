import { expect, test } from "vitest";
import { toldFailure, toldRejection } from "./told-failure.ts";

const usual = { reason: "RuntimeError", message: "no details" };

test.each([
  ["a word and a text are kept", "DiskMissing", "no /dev/sda", { reason: "DiskMissing", message: "no /dev/sda" }],
  ["nothing is the usual", "", "", usual],
  ["a text alone has the usual reason", "", "no /dev/sda", { reason: "RuntimeError", message: "no /dev/sda" }],
  [
    "what is no word goes before the text",
    "Disk Full!",
    "at 99 %",
    { reason: "InvalidReason", message: "Disk Full!: at 99 %" },
  ],
])("of a failure: %s", (_what, reason, message, expected) => {
  expect(toldFailure(reason, message, usual)).toEqual(expected);
});

test("a text that is too long is cut, with a mark", () => {
  const { message } = toldFailure("X", "a".repeat(5000), usual);
  expect(message).toHaveLength(4096);
  expect(message.endsWith("a…")).toBe(true);
});

test("a rejection without a reason has none", () => {
  expect(toldRejection("", "busy")).toEqual({ message: "busy" });
  expect(toldRejection("WorkflowInProgress", "busy")).toEqual({ reason: "WorkflowInProgress", message: "busy" });
  expect(toldRejection("a b", "busy")).toEqual({ message: "a b: busy" });
});
