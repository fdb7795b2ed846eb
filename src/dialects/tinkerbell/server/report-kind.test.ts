import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { workerV1, workflowV1 } from "#kernel/rpc/index.ts";
import { reportKind } from "./report-kind.ts";

const { ActionStatusRequestSchema } = workflowV1;
const { WorkflowActionStatusSchema } = workerV1;

test("a report of an agent that asks for each action is told by the id of its action or by its state", () => {
  const whole = { workflowId: "a/b", agentId: "x", taskId: "t", actionId: "id", actionName: "n", actionState: 2 };
  for (const message of [
    whole,
    { actionId: "id" },
    { actionState: 5 },
    { ...whole, executionStart: { seconds: -62135596800n } },
  ])
    expect(reportKind(toBinary(ActionStatusRequestSchema, create(ActionStatusRequestSchema, message)))).toBe("poll");
});

test("a report of a worker is told by its state, its seconds or its message", () => {
  const whole = {
    workflowId: "a/b",
    taskName: "t",
    actionName: "n",
    actionStatus: workerV1.State.RUNNING,
    seconds: 5n,
    message: "m",
  };
  for (const message of [whole, { actionStatus: workerV1.State.SUCCESS }, { seconds: 300n }, { message: "Started" }])
    expect(reportKind(toBinary(WorkflowActionStatusSchema, create(WorkflowActionStatusSchema, message)))).toBe(
      "worker",
    );
});

test("bytes that say neither, or nothing that makes sense, are nobody's", () => {
  for (const bytes of [
    [],
    [0x0a, 0x01, 0x61],
    [0xff],
    [0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x20, 0x01],
    [0x23],
    Array(20).fill(0xff),
  ])
    expect(reportKind(Uint8Array.from(bytes as readonly number[]))).toBeUndefined();
});
