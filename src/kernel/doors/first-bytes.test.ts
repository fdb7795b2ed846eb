import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Clock, deferred, systemClock } from "#lib/base/index.ts";
import { type Protocol, readFirstBytes } from "./first-bytes.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Both ends of a connection. */
async function connection(): Promise<{ readonly ours: Socket; readonly theirs: Socket }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const theirs = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [ours] = (await once(server, "connection")) as [Socket];
  closers.push(
    () => server.close(),
    () => theirs.destroy(),
    () => ours.destroy(),
  );
  return { ours, theirs };
}

/** A clock whose timers run when they are told to. */
function heldClock() {
  const due: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(_delay, run) {
      due.push(run);
      return () => void due.splice(due.indexOf(run), 1);
    },
  };
  /** The one that is due first. */
  const fire = (): void => due.shift()?.();
  return { clock, due, fire };
}

const limits = { idleMs: 10_000, headersMs: 10_000 };

test("of who has spoken while this process did not run is read what he said, however late that is", async () => {
  const { ours, theirs } = await connection();
  const { clock, due, fire } = heldClock();
  const decided = deferred<Protocol>();
  readFirstBytes(ours, clock, limits, decided.resolve);
  // It goes on after the whole time: timers are first, and what has come meanwhile is seen behind them.
  fire();
  theirs.write("GET / HTTP/1.1\r\n");
  expect(await decided.promise).toBe("http1");
  expect(due).toEqual([]);
  expect(ours.destroyed).toBe(false);
});

test("who says nothing for the whole time is cut", async () => {
  const { ours, theirs } = await connection();
  const { clock, due, fire } = heldClock();
  const gone = once(theirs.resume(), "close");
  readFirstBytes(ours, clock, limits, () => undefined);
  while (due.length > 0) fire();
  await gone;
});
