import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";
import { OpenStreams } from "./open-streams.ts";

const ann: Identity = { user: "ann", groups: ["a", "b"] };

/** A stream and what is known of its caller. */
function open(streams: OpenStreams, known: { identity?: Identity } = { identity: ann }) {
  const stream = { known, ended: 0, release: (): void => undefined };
  stream.release = streams.guard(
    () => stream.known.identity,
    () => (stream.ended += 1),
  );
  return stream;
}

test("a stream ends once, within a second, when what its caller has shown is good no more", async () => {
  const clock = new FakeClock();
  const streams = new OpenStreams(clock);
  const [gone, stays] = [open(streams), open(streams)];
  await clock.advance(5000);
  expect([gone.ended, stays.ended]).toEqual([0, 0]);
  gone.known = {};
  await clock.advance(1000);
  expect([gone.ended, stays.ended]).toEqual([1, 0]);
  await clock.advance(10_000);
  expect([gone.ended, stays.ended]).toEqual([1, 0]);
});

test.each<[string, Identity, number]>([
  ["another user", { user: "bob", groups: ["a", "b"] }, 1],
  ["fewer groups", { user: "ann", groups: ["a"] }, 1],
  ["another group", { user: "ann", groups: ["a", "c"] }, 1],
  ["the same in other objects", { user: "ann", groups: ["a", "b"] }, 0],
])("a credential that was made anew for %s", async (_what, identity, ended) => {
  const clock = new FakeClock();
  const stream = open(new OpenStreams(clock));
  stream.known = { identity };
  await clock.advance(1000);
  expect(stream.ended).toBe(ended);
});

test("one that has ended by itself is left alone, and nothing is looked at while none is open", async () => {
  const clock = new FakeClock();
  const streams = new OpenStreams(clock);
  const stream = open(streams);
  stream.release();
  stream.release();
  stream.known = {};
  await clock.advance(5000);
  expect(stream.ended).toBe(0);
  const later = open(streams);
  later.known = {};
  await clock.advance(1000);
  expect(later.ended).toBe(1);
});

test("a stream that opens or ends while others are looked at is no trouble", async () => {
  const clock = new FakeClock();
  const streams = new OpenStreams(clock);
  const known: { identity?: Identity } = { identity: ann };
  const others: ReturnType<typeof open>[] = [];
  const release = streams.guard(
    () => known.identity,
    () => {
      release();
      others.push(open(streams, { identity: ann }));
    },
  );
  delete known.identity;
  await clock.advance(3000);
  expect(others).toHaveLength(1);
  if (others[0] !== undefined) others[0].known = {};
  await clock.advance(1000);
  expect(others[0]?.ended).toBe(1);
});
