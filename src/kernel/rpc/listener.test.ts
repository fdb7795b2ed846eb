import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { afterEach, expect, test } from "vitest";
import { deferred, FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { Health, HealthCheckResponse_ServingStatus } from "./gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "./gen/grpc/reflection/v1/reflection_pb.js";
import {
  fromBinary,
  type Handlers,
  RpcError,
  RpcListener,
  type RpcListenerOptions,
  rpcStatus,
  service,
  wharfApiV5,
  workflowV2,
} from "./index.ts";
import { isRefused, type Refused, RpcClient } from "./testing/index.ts";

const { WorkflowService } = workflowV2;
const { PreconditionFailureSchema, StatusSchema } = rpcStatus;
const { getWorkflows, publishEvent } = WorkflowService.method;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A listener of the workflow service with these handlers, and a client of it. */
async function start(handlers: Handlers<typeof WorkflowService>, options: Partial<RpcListenerOptions> = {}) {
  const listener = await RpcListener.start({
    address: "127.0.0.1:0",
    services: [service(WorkflowService, handlers)],
    clock: systemClock,
    log: silentLog,
    ...options,
  });
  closers.push(() => listener.close());
  const client = new RpcClient(listener.port);
  closers.push(() => client.close());
  return { listener, client };
}

const event = { event: { workflowId: "w" } };
const refusal = (answer: object): Refused => {
  if (!isRefused(answer)) throw new Error("the call was not refused");
  return answer;
};

test("a handler sees the message and its headers, and its answer arrives", async () => {
  const seen: unknown[] = [];
  const { client } = await start({
    publishEvent: async ({ event: told }, call) => {
      seen.push(
        told?.workflowId,
        call.header("x-one"),
        call.binary("x-two-bin").map((bytes) => [...bytes]),
      );
      return {};
    },
  });
  const answer = await client.unary(publishEvent, event, { "x-one": ["a", "b"], "x-two-bin": Buffer.from([0, 255]) });
  expect(isRefused(answer)).toBe(false);
  expect(seen).toEqual(["w", "a, b", [[0, 255]]]);
});

test("a refusal arrives with code, text and details", async () => {
  const violations = [{ type: "T", subject: "", description: "" }];
  const { client } = await start({
    publishEvent: async () => {
      const details = [{ schema: PreconditionFailureSchema, value: { violations } }];
      throw new RpcError("FAILED_PRECONDITION", "not now", { details });
    },
  });
  const { code, message, metadata } = refusal(await client.unary(publishEvent, event));
  expect([code, message]).toEqual(["FAILED_PRECONDITION", "not now"]);
  const status = fromBinary(StatusSchema, Buffer.from(metadata.get("grpc-status-details-bin")[0] ?? ""));
  expect(status.details[0]?.typeUrl).toBe("type.googleapis.com/google.rpc.PreconditionFailure");
  expect(fromBinary(PreconditionFailureSchema, status.details[0]?.value ?? new Uint8Array()).violations[0]?.type).toBe(
    "T",
  );
});

test("what a handler throws by mistake is not told to the caller", async () => {
  const logged: unknown[] = [];
  const log = { ...silentLog, error: (_message: string, fields: object = {}) => void logged.push(fields) };
  const { client } = await start({ publishEvent: async () => Promise.reject(new Error("secret")) }, { log });
  expect(refusal(await client.unary(publishEvent, event))).toMatchObject({
    code: "INTERNAL",
    message: "the server has failed",
  });
  expect(logged).toMatchObject([{ error: "secret" }]);
});

test("bytes that are no message are the caller's mistake", async () => {
  const { client } = await start({ publishEvent: async () => ({}) });
  const answer = await client.bytes(publishEvent, Buffer.from([0x0a, 0x7f, 0x01]));
  expect(refusal(answer)).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a message over the limit is refused, and so is a method that nobody answers", async () => {
  const { client } = await start({ publishEvent: async () => ({}) }, { maxMessageBytes: 1000 });
  const large = { event: { workflowId: "w".repeat(2000) } };
  expect(refusal(await client.unary(publishEvent, large)).code).toBe("RESOURCE_EXHAUSTED");
  const stream = client.serverStream(getWorkflows, { agentId: "a" });
  expect((await stream.end.promise)?.code).toBe("UNIMPLEMENTED");
});

test("a call whose message comes in drops is ended, and others on its connection go on", async () => {
  const clock = new FakeClock();
  const { listener } = await start({ publishEvent: async () => ({}) }, { clock });
  const session = connect(`http://127.0.0.1:${listener.port}`);
  closers.push(() => session.destroy());
  const headers = { ":method": "POST", ":path": `/${WorkflowService.typeName}/${publishEvent.name}` };
  const call = () => session.request({ ...headers, "content-type": "application/grpc", te: "trailers" });
  const slow = call();
  slow.on("error", () => undefined).resume();
  for (let drops = 0; !slow.closed; drops++) {
    if (drops === 0) slow.write(Buffer.from([0, 0, 1, 0, 0]));
    else slow.write("x");
    await clock.advance(1000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(slow.rstCode).toBe(constants.NGHTTP2_CANCEL);
  const whole = call();
  whole.end(Buffer.alloc(5));
  whole.resume();
  const [trailers] = (await once(whole, "trailers")) as [Record<string, string>];
  expect(trailers["grpc-status"]).toBe("0");
});

test("a stream may be silent between messages, and is ended when one that has begun comes in drops", async () => {
  const clock = new FakeClock();
  const taken: string[] = [];
  const whole = deferred<void>();
  const { Builds } = wharfApiV5;
  const count = async (lines: AsyncIterable<{ readonly message: string }>) => {
    for await (const { message } of lines) if (taken.push(message) === 2) whole.resolve();
    return {};
  };
  const { listener } = await start({}, { clock, services: [service(Builds, { createLogStream: count })] });
  const session = connect(`http://127.0.0.1:${listener.port}`);
  closers.push(() => session.destroy());
  const { createLogStream } = Builds.method;
  const path = `/${Builds.typeName}/${createLogStream.name}`;
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined).resume();
  stream.write(Buffer.alloc(5));
  await clock.advance(3_600_000);
  stream.write(Buffer.alloc(5));
  await whole.promise;
  await clock.advance(3_600_000);
  expect(stream.closed).toBe(false);
  stream.write(Buffer.from([0, 0, 1, 0, 0]));
  while (!stream.closed) {
    stream.write("x");
    await clock.advance(1000);
  }
  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  expect(taken).toEqual(["", ""]);
});

test("a stream carries what its handler sends, and tells it when the caller has gone", async () => {
  const ended: string[] = [];
  const { client } = await start({
    getWorkflows: async ({ agentId }, replies, call) => {
      call.sendHeaders({ "x-slipway-features": "resume" });
      replies.send({ cmd: { case: "stopWorkflow", value: { workflowId: agentId } } });
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
      ended.push(agentId);
    },
  });
  const stream = client.serverStream(getWorkflows, { agentId: "a" });
  await expect.poll(() => stream.messages.length).toBe(1);
  expect((await stream.headers.promise).get("x-slipway-features")).toEqual(["resume"]);
  expect(stream.messages[0]?.cmd).toMatchObject({ case: "stopWorkflow", value: { workflowId: "a" } });
  stream.cancel();
  await expect.poll(() => ended).toEqual(["a"]);
});

test("what a handler wants to hear of the end of its call it hears once, also when it asks too late", async () => {
  const [begun, heard]: [string[], string[]] = [[], []];
  const { client, listener } = await start({
    getWorkflows: ({ agentId }, _replies, call) =>
      new Promise((_resolve, reject) => {
        begun.push(agentId);
        call.onEnd((reason) => {
          heard.push(`${agentId} ${reason.code}`);
          call.onEnd(() => heard.push(`${agentId} late`));
          reject(reason);
        });
      }),
  });
  const gone = client.serverStream(getWorkflows, { agentId: "gone" });
  const stays = client.serverStream(getWorkflows, { agentId: "stays" });
  await expect.poll(() => begun.length).toBe(2);
  gone.cancel();
  await expect.poll(() => heard).toEqual(["gone CANCELLED", "gone late"]);
  await listener.close();
  expect(heard.slice(2)).toEqual(["stays UNAVAILABLE", "stays late"]);
  expect(await stays.end.promise).toMatchObject({ code: "UNAVAILABLE" });
});

test("when it closes, calls with one answer get it, and streams end with UNAVAILABLE", async () => {
  let answer: (value: object) => void = () => undefined;
  const { client, listener } = await start({
    publishEvent: () => new Promise((resolve) => (answer = resolve)),
    getWorkflows: async (_request, _replies, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  });
  const stream = client.serverStream(getWorkflows, { agentId: "a" });
  const call = client.unary(publishEvent, event);
  await expect.poll(() => answer.length).toBe(1);
  const closed = listener.close();
  answer({});
  expect(isRefused(await call)).toBe(false);
  expect(await stream.end.promise).toMatchObject({ code: "UNAVAILABLE", message: "the server is shutting down" });
  await closed;
});

test("a stream is told the reason also by a process that is stopped while it closes", async () => {
  const { client, listener } = await start({
    getWorkflows: (_request, _replies, call) =>
      new Promise((_resolve, reject) => {
        call.sendHeaders({});
        call.onEnd(reject);
      }),
  });
  const stream = client.serverStream(getWorkflows, { agentId: "a" });
  await stream.headers.promise;
  const closed = listener.close();
  // For longer than last words may take, when they are not sent yet.
  setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700));
  expect(await stream.end.promise).toMatchObject({ code: "UNAVAILABLE", message: "the server is shutting down" });
  await closed;
});

test("an address that is taken is an error that names it", async () => {
  const { listener } = await start({});
  await expect(start({}, { address: `127.0.0.1:${listener.port}` })).rejects.toThrow(`127.0.0.1:${listener.port}`);
});

test("it tells of its health, by service and as a whole", async () => {
  const { client } = await start({});
  const { SERVING } = HealthCheckResponse_ServingStatus;
  for (const name of ["", WorkflowService.typeName])
    expect(await client.unary(Health.method.check, { service: name })).toMatchObject({ status: SERVING });
  expect(refusal(await client.unary(Health.method.check, { service: "x.Y" })).code).toBe("NOT_FOUND");
});

test("it describes what it speaks", async () => {
  const { client } = await start({});
  const stream = client.bidi(ServerReflection.method.serverReflectionInfo, [
    { messageRequest: { case: "listServices", value: "" } },
    { messageRequest: { case: "fileContainingSymbol", value: `${WorkflowService.typeName}.PublishEvent` } },
    { messageRequest: { case: "fileByFilename", value: "none.proto" } },
  ]);
  expect(await stream.end.promise).toBeUndefined();
  const [list, file, none] = stream.messages.map(({ messageResponse }) => messageResponse);
  expect(list).toMatchObject({
    value: { service: [{ name: WorkflowService.typeName }, { name: "grpc.health.v1.Health" }] },
  });
  if (file?.case !== "fileDescriptorResponse") throw new Error("no file was answered");
  const described = fromBinary(FileDescriptorProtoSchema, file.value.fileDescriptorProto[0] ?? new Uint8Array());
  expect(described.service[0]?.method.map(({ name }) => name)).toEqual(["GetWorkflows", "PublishEvent"]);
  expect(none).toMatchObject({ value: { errorCode: 5 } });
});

test("calls are counted when they begin and when they end", async () => {
  const seen: string[] = [];
  const { client } = await start(
    { publishEvent: async () => Promise.reject(new RpcError("NOT_FOUND", "gone")) },
    {
      observe: ({ method, type }) => {
        seen.push(`${type} ${method}`);
        return (code) => void seen.push(code);
      },
    },
  );
  await client.unary(publishEvent, event);
  expect(seen).toEqual(["unary PublishEvent", "NOT_FOUND"]);
});

test("many streams at once are not taken for a leak", async () => {
  const warnings: string[] = [];
  const note = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", note);
  closers.push(() => void process.off("warning", note));
  const { client } = await start({
    getWorkflows: async (_request, _replies, call) => {
      call.sendHeaders({});
      await new Promise((_resolve, reject) =>
        call.signal.addEventListener("abort", () => reject(call.signal.reason as Error)),
      );
    },
  });
  const streams = Array.from({ length: 20 }, () => client.serverStream(getWorkflows, { agentId: "a" }));
  await Promise.all(streams.map(({ headers }) => headers.promise));
  expect(warnings.filter((message) => message.includes("leak"))).toEqual([]);
});

test("services are made by the first connection, and once", async () => {
  let made = 0;
  const { listener, client } = await start(
    {},
    {
      services: async () => {
        made++;
        return Promise.resolve([service(WorkflowService, { publishEvent: () => Promise.resolve({}) })]);
      },
    },
  );
  expect(made).toBe(0);
  expect(isRefused(await client.unary(publishEvent, event))).toBe(false);
  const other = new RpcClient(listener.port);
  closers.push(() => other.close());
  expect(isRefused(await other.unary(publishEvent, event))).toBe(false);
  expect(made).toBe(1);
});
