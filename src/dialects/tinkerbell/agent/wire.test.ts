import { expect, test } from "vitest";
import { fromBinary, workflowV2 } from "#kernel/rpc/index.ts";
import { agentAction } from "./testing/executions.ts";
import { decodeCommand, encodeEvent, formatResumed } from "./wire.ts";

/** As it comes from the wire. */
const { GetWorkflowsResponseSchema } = workflowV2;
const message = (hex: string) => decodeCommand(fromBinary(GetWorkflowsResponseSchema, Buffer.from(hex, "hex")));

test("a stop names its workflow; what is unknown or empty is no command", () => {
  expect(message("12050a03612f62")).toEqual({ is: "stop", workflow: "a/b" });
  expect(message("")).toBeUndefined();
  expect(message("0a00")).toBeUndefined();
  expect(message("9a060161")).toBeUndefined();
});

test("a start brings its actions as plain data that goes through a journal", () => {
  // workflow { id "w", actions { id "1" name "n" image "i" cmd "" args "x" env {A:"b"} volumes "/a:/b" ns { pid "host" net "" } } }
  const action =
    "0a0131" +
    "12016e" +
    "1a0169" +
    "2200" +
    "2a0178" +
    "3206" +
    "0a0141" +
    "120162" +
    "3a052f613a2f62" +
    "42080a04686f73741200";
  const workflow = "0a017712" + (action.length / 2).toString(16).padStart(2, "0") + action;
  const start = "0a" + (workflow.length / 2).toString(16).padStart(2, "0") + workflow;
  const command = message("0a" + (start.length / 2).toString(16).padStart(2, "0") + start);
  const one = {
    ...agentAction("n"),
    id: "1",
    image: "i",
    args: ["x"],
    env: { A: "b" },
    volumes: ["/a:/b"],
    pid: "host",
  };
  expect(command).toEqual({ is: "start", workflow: { id: "w", actions: [one] } });
  expect(JSON.parse(JSON.stringify(command))).toEqual(command);
});

test("events have the words of the protocol", () => {
  expect(encodeEvent("w", { is: "started", action: "a" })).toEqual({
    workflowId: "w",
    event: { case: "actionStarted", value: { actionId: "a" } },
  });
  expect(encodeEvent("w", { is: "succeeded", action: "a" }).event?.case).toBe("actionSucceeded");
  expect(encodeEvent("w", { is: "failed", action: "a", reason: "R", message: "m" }).event).toEqual({
    case: "actionFailed",
    value: { actionId: "a", failureReason: "R", failureMessage: "m" },
  });
  expect(encodeEvent("w", { is: "rejected", message: "m" }).event).toEqual({
    case: "workflowRejected",
    value: { failureMessage: "m" },
  });
});

test("what is resumed is one value of the header", () => {
  expect(formatResumed({ workflow: "ns/w/uid", action: "a", state: "interrupted" })).toBe(
    "ns/w/uid;action=a;state=interrupted",
  );
});
