import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, silentLog, systemClock } from "#lib/base/index.ts";
import {
  type CallContext,
  type Replies,
  RpcError,
  RpcListener,
  type StatusName,
  service,
  workflowV2,
} from "#kernel/rpc/index.ts";
import type { AgentConnection, Command } from "./connection.ts";
import { streamClient } from "./stream-client.ts";

/** A real server of the protocol, which does what a test says. */
let listener: RpcListener;
let refusal: StatusName;
let stream = deferred<{
  readonly call: CallContext;
  readonly replies: Replies<typeof workflowV2.GetWorkflowsResponseSchema>;
}>();
let end = deferred<void>();
const published: unknown[] = [];
const open: AgentConnection[] = [];

beforeEach(async () => {
  refusal = "OK";
  stream = deferred();
  end = deferred();
  end.promise.catch(() => undefined);
  published.length = 0;
  listener = await RpcListener.start({
    address: "127.0.0.1:0",
    clock: systemClock,
    log: silentLog,
    drain: 100,
    services: [
      service(workflowV2.WorkflowService, {
        async getWorkflows(_request, replies, call) {
          stream.resolve({ call, replies });
          call.signal.addEventListener("abort", () => end.reject(call.signal.reason), { once: true });
          await end.promise;
        },
        async publishEvent({ event }, call) {
          published.push([event?.workflowId, event?.event.case, call.header("authorization")]);
          if (refusal !== "OK") throw new RpcError(refusal, "refused by the test");
          return {};
        },
      }),
    ],
  });
});
afterEach(async () => {
  for (const connection of open.splice(0)) connection.close();
  end.resolve();
  await listener.close();
});

const never = new AbortController().signal;

async function connect(port = listener.port): Promise<AgentConnection> {
  const client = streamClient({
    agentId: "agent-a",
    instance: "instance-1",
    version: "1.2.3",
    runtime: "host",
    attributes: async () => ({ product: { name: "Rack ü" } }),
    token: async () => "secret",
    channel: async () => ({
      address: `127.0.0.1:${port}`,
      keepalive: { time: 20_000, timeout: 10_000 },
      connectLimit: 5_000,
      clock: systemClock,
    }),
  });
  const resumed = [
    { workflow: "ns/w/1", action: "a", state: "running" },
    { workflow: "ns/x/2", action: "b", state: "interrupted" },
  ] as const;
  const connection = await client.connect(resumed, never);
  open.push(connection);
  return connection;
}

test("an agent says who it is and what it is not free of, and hears commands in order", async () => {
  const { commands } = await connect();
  const heard: Command[] = [];
  const listening = (async () => {
    for await (const command of commands) heard.push(command);
  })();
  const { call, replies } = await stream.promise;
  expect(call.header("x-slipway-instance")).toBe("instance-1");
  expect([call.header("x-slipway-version"), call.header("x-slipway-runtime")]).toEqual(["1.2.3", "host"]);
  expect(JSON.parse(Buffer.from(call.binary("x-slipway-attributes-bin")[0] ?? []).toString("utf8"))).toEqual({
    product: { name: "Rack ü" },
  });
  expect(call.header("authorization")).toBe("Bearer secret");
  expect(call.header("x-slipway-resume")).toBe("ns/w/1;action=a;state=running, ns/x/2;action=b;state=interrupted");
  replies.send({ cmd: { case: "startWorkflow", value: { workflow: { workflowId: "w", actions: [] } } } });
  replies.send({});
  replies.send({ cmd: { case: "stopWorkflow", value: { workflowId: "w" } } });
  end.resolve();
  await listening;
  expect(heard).toEqual([
    { is: "start", workflow: { id: "w", actions: [] } },
    { is: "stop", workflow: "w" },
  ]);
});

test.each<readonly [StatusName, "ok" | "refused" | "again"]>([
  ["OK", "ok"],
  ["NOT_FOUND", "refused"],
  ["FAILED_PRECONDITION", "refused"],
  ["INVALID_ARGUMENT", "refused"],
  ["UNAVAILABLE", "again"],
  ["PERMISSION_DENIED", "again"],
  ["UNAUTHENTICATED", "again"],
  ["INTERNAL", "again"],
])("an event that is answered %s is %s", async (status, expected) => {
  refusal = status;
  const connection = await connect();
  const answer = connection.publish("w", { is: "started", action: "a" }, never).catch((thrown: unknown) => {
    expect(thrown).toMatchObject({ code: status, message: "refused by the test" });
    return "again";
  });
  expect(await answer).toBe(expected);
  expect(published).toEqual([["w", "actionStarted", "Bearer secret"]]);
});

test("a server that ends breaks the connection; one that is not there is told by name", async () => {
  const { commands } = await connect();
  const listening = (async () => {
    for await (const _command of commands) void _command;
  })();
  await stream.promise;
  const { port } = listener;
  await Promise.all([expect(listening).rejects.toMatchObject({ code: "UNAVAILABLE" }), listener.close()]);
  await expect(connect(port)).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/),
  });
});

test("a connection that is closed ends its commands, and what is being told", async () => {
  const connection = await connect();
  const listening = (async () => {
    for await (const _command of connection.commands) void _command;
  })();
  const { call } = await stream.promise;
  connection.close();
  await listening.catch(() => undefined);
  await expect.poll(() => call.signal.aborted).toBe(true);
  await expect(connection.publish("w", { is: "started", action: "a" }, never)).rejects.toThrow();
});

test("a connection that is not wanted any more is not waited for", async () => {
  const client = streamClient({
    agentId: "a",
    instance: "i",
    token: async () => undefined,
    // An address that nobody has: RFC 5737.
    channel: async () => ({
      address: "192.0.2.1:1",
      keepalive: { time: 20_000, timeout: 10_000 },
      connectLimit: 3_600_000,
      clock: systemClock,
    }),
  });
  const stop = new AbortController();
  const connecting = client.connect([], stop.signal);
  setTimeout(() => stop.abort(new Error("enough")), 50);
  await expect(connecting).rejects.toThrow();
});
