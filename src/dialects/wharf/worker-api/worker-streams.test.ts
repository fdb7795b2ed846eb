import { afterEach, describe, expect, test } from "vitest";
import { wharfWorkerV1 } from "#kernel/rpc/index.ts";
import { type Received, RpcClient } from "#kernel/rpc/testing/index.ts";
import { type ServedBuild, serveBuild } from "./testing/served-build.ts";

const { method } = wharfWorkerV1.Worker;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(steps = 2, options: Parameters<typeof serveBuild>[1] = {}): Promise<ServedBuild> {
  const build = await serveBuild(steps, options);
  closers.push(() => build.close());
  return build;
}

function clientOf({ door }: ServedBuild): RpcClient {
  const client = new RpcClient(door.port);
  closers.push(() => client.close());
  return client;
}

/** What a stream has brought when it has ended, and how it did. */
async function allOf<T>(received: Received<T>) {
  const end = await received.end.promise;
  return { end: end?.code, messages: received.messages };
}

const linesIn = (messages: readonly { stepId: bigint; logId: bigint; message?: string; line?: string }[]) =>
  messages.map(({ stepId, logId, message, line }) => `${stepId}/${logId} ${message ?? line}`);

describe("logs", () => {
  test("are there from the beginning, then come, and end OK with the freeze, under both names", async () => {
    const build = await serve();
    await build.print(1, "a\nb\n");
    const client = clientOf(build);
    const shipped = client.serverStream(method.streamLogs, {});
    const rfc = client.serverStream(method.logs, {});
    await expect.poll(() => shipped.messages.length).toBe(2);
    expect(shipped.messages[0]?.timestamp?.seconds).toBeGreaterThan(1_700_000_000n);
    await build.print(2, "c\n");
    await build.end();
    const expected = { end: undefined, lines: ["1/1 a", "1/2 b", "2/1 c"] };
    for (const { end, messages } of [await allOf(shipped), await allOf(rfc)])
      expect({ end, lines: linesIn(messages) }).toEqual(expected);
  });

  test("can be read by who comes after the end", async () => {
    const build = await serve();
    await build.print(1, "a\n");
    await build.end();
    const { end, messages } = await allOf(clientOf(build).serverStream(method.streamLogs, {}));
    expect([end, linesIn(messages)]).toEqual([undefined, ["1/1 a"]]);
  });

  test("come of the steps, after the lines and in the time that are asked for", async () => {
    const build = await serve(3);
    for (const stepId of [1, 2, 3]) await build.print(stepId, "a\nb\nc\n");
    const client = clientOf(build);
    const ask = async (
      request: Parameters<
        typeof client.serverStream<typeof method.streamLogs.input, typeof method.streamLogs.output>
      >[1],
    ) => linesIn((await allOf(client.serverStream(method.streamLogs, { noFollow: true, ...request }))).messages);
    const after = [
      { stepId: 1n, lastLogId: 2n },
      { stepId: 2n, lastLogId: 99n },
      { stepId: 99n, lastLogId: 1n },
    ];
    expect(await ask({ after, stepIds: [1n, 2n, 77n] })).toEqual(["1/3 c"]);
    expect(await ask({ stepIds: [3n] })).toEqual(["3/1 a", "3/2 b", "3/3 c"]);
    expect(await ask({ since: { seconds: 4_000_000_000n, nanos: 0 } })).toEqual([]);
    expect(await ask({ before: { seconds: 4_000_000_000n, nanos: 0 } })).toHaveLength(9);
  });

  test("of no time are refused", async () => {
    const moment = { seconds: 1n, nanos: 0 };
    const stream = clientOf(await serve()).serverStream(method.streamLogs, { since: moment, before: moment });
    expect(await stream.end.promise).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: "before: expected a moment after since",
    });
  });
});

describe("events", () => {
  test("of steps have the numbers of their messages; those that are one number in the RFC are told once", async () => {
    const build = await serve(1);
    for (const status of ["Scheduling", "Initializing"] as const) await build.results.setStatus(1, status);
    const client = clientOf(build);
    const [shipped, rfc] = [
      client.serverStream(method.streamStatusEvents, {}),
      client.serverStream(method.statusEvents, {}),
    ];
    await build.print(1, "");
    await build.end();
    const first = await allOf(shipped);
    expect(first.messages.map(({ eventId, status }) => [Number(eventId), status])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
      [5, 5],
    ]);
    expect(first.messages[4]?.timestamp?.seconds).toBeGreaterThan(1_700_000_000n);
    const second = await allOf(rfc);
    expect(second.messages.map(({ eventId, status }) => [Number(eventId), status])).toEqual([
      [1, 0],
      [3, 1],
      [5, 3],
    ]);
  });

  test("of artifacts come when they can be downloaded", async () => {
    const build = await serve();
    const client = clientOf(build);
    const [shipped, rfc] = [
      client.serverStream(method.streamArtifactEvents, {}),
      client.serverStream(method.artifactEvent, {}),
    ];
    await build.leave(2, "out/a.txt", "hello");
    await expect
      .poll(() => shipped.messages)
      .toMatchObject([
        {
          artifactId: 1n,
          stepId: 2n,
          name: "out/a.txt",
          size: 5n,
          sha256: expect.stringMatching(/^[\da-f]{64}$/) as string,
        },
      ]);
    expect(await (await fetch(build.url("/api/artifact/1/download"))).text()).toBe("hello");
    await build.end();
    expect(await allOf(rfc)).toMatchObject({ end: undefined, messages: [{ artifactId: 1n, name: "out/a.txt" }] });
  });
});

describe("a stream that does not end well says why", () => {
  test("the deadline of its caller", async () => {
    const build = await serve();
    const stream = clientOf(build).serverStream(method.streamLogs, {}, { "grpc-timeout": "50m" });
    expect(await stream.end.promise).toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });

  test("a method that is not there", async () => {
    const build = await serve();
    const other = { ...method.streamLogs, name: "StreamDreams" };
    expect(await clientOf(build).serverStream(other, {}).end.promise).toMatchObject({ code: "UNIMPLEMENTED" });
  });

  test("a token that is missing", async () => {
    const build = await serve(1, { token: "t" });
    const client = clientOf(build);
    expect(await client.serverStream(method.streamLogs, {}).end.promise).toMatchObject({ code: "UNAUTHENTICATED" });
    await build.end();
    const allowed = client.serverStream(method.streamLogs, {}, { authorization: "Bearer t" });
    expect(await allowed.end.promise).toBeUndefined();
  });

  test("a server, or a store, that closes before all was sent", async () => {
    const [first, second] = [await serve(), await serve()];
    const streams = [first, second].map((build) => clientOf(build).serverStream(method.streamLogs, {}));
    for (const build of [first, second]) await build.print(1, "a\n");
    for (const { messages } of streams) await expect.poll(() => messages.length).toBe(1);
    await first.door.close();
    second.results.changes.close(Object.assign(new Error("closed"), { code: "results-closed" }));
    for (const { end } of streams) expect(await end.promise).toMatchObject({ code: "UNAVAILABLE" });
  });
});

test("a caller who leaves costs nothing more", async () => {
  const build = await serve();
  const streams = Array.from({ length: 20 }, () => clientOf(build).serverStream(method.streamLogs, {}));
  await expect.poll(() => build.results.changes.waiting).toBe(20);
  for (const { cancel } of streams) cancel();
  await expect.poll(() => build.results.changes.waiting).toBe(0);
});
