import { expect, test } from "vitest";
import { FakeClock } from "./fake-clock.ts";
import { growingUids } from "./ids.node.ts";

test("uids grow, also within a millisecond and while the clock is set back", async () => {
  const clock = new FakeClock(Date.parse("2026-01-01T00:00:00Z"));
  const next = growingUids(clock);
  const made = Array.from({ length: 10_000 }, next);
  await clock.advance(1000);
  made.push(next());
  const back = growingUids({ now: () => (made.length % 2 === 0 ? 1_000_000 : 999_000) });
  const jumping = Array.from({ length: 100 }, () => (made.push(""), back()));
  expect(made.slice(0, 10_001)).toEqual(made.slice(0, 10_001).sort());
  expect(jumping).toEqual([...jumping].sort());
  expect(new Set(made.slice(0, 10_001)).size).toBe(10_001);
});

test("a uid is one of version 7 that begins with the time", () => {
  const at = Date.parse("2026-01-01T00:00:00Z");
  const uid = growingUids(new FakeClock(at))();
  expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(Number.parseInt(uid.replace("-", "").slice(0, 12), 16)).toBe(at);
});
