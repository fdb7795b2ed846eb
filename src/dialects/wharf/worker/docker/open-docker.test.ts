import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deferred, FakeClock } from "#lib/base/index.ts";
import { openDocker } from "./open-docker.ts";

// An engine that takes connections and says nothing.

let engine: Server;
let asked: Promise<void>;
beforeEach(async () => {
  const connected = deferred<void>();
  asked = connected.promise;
  engine = createServer((socket) => {
    socket.on("error", () => undefined).resume();
    connected.resolve();
  }).listen(0, "127.0.0.1");
  await once(engine, "listening");
});
afterEach(() => void engine.close());

function opening(more: { readonly isGuess?: boolean; readonly signal?: AbortSignal } = {}) {
  const clock = new FakeClock();
  const { port } = engine.address() as AddressInfo;
  const variables = { DOCKER_HOST: `tcp://127.0.0.1:${port}`, HOME: "/nowhere" };
  return { clock, opened: openDocker({ build: { instance: "local" }, clock, variables, ...more }) };
}

test.each([
  [{ isGuess: true }, 2_000],
  [{ isGuess: false }, 60_000],
])("of an engine that is slow to answer is none where %j, after %i ms", async (choice, limit) => {
  const { clock, opened } = opening(choice);
  let isOver = false;
  void opened.then(() => (isOver = true));
  await asked;
  await clock.advance(limit - 1);
  expect(isOver).toBe(false);
  await clock.advance(1);
  const error = { message: expect.stringContaining(`did not answer within ${limit / 1000} s`) as string };
  expect(await opened).toMatchObject({ ok: false, error });
});

test("an engine is not waited for any more by who is told to end", async () => {
  const stop = new AbortController();
  const { opened } = opening({ signal: stop.signal });
  await asked;
  stop.abort(new Error("enough"));
  expect(await opened).toMatchObject({ ok: false, error: { message: "enough" } });
});
