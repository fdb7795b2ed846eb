import { expect, test } from "vitest";
import { type Deferred, deferred, FakeClock } from "#lib/base/index.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { Passwords } from "./passwords.ts";

function checking() {
  const world = new MemoryWorld({ users: [{ Name: "anna", Secret: "one" }] });
  const asked: { readonly password: string; readonly answer: Deferred<boolean> }[] = [];
  const clock = new FakeClock(0);
  const passwords = new Passwords(
    {
      tokenKey: new Uint8Array(32),
      passwords: {
        check(_user, password) {
          const answer = deferred<boolean>();
          asked.push({ password, answer });
          return answer.promise;
        },
        set: () => Promise.resolve(),
      },
    },
    clock,
  );
  const check = (password: string, address = "198.51.100.1") => passwords.check(world, "anna", password, address);
  return { world, asked, clock, check };
}

test("a password that was right is remembered for five minutes, until the user's secret changes", async () => {
  const { world, asked, clock, check } = checking();
  const first = check("p");
  await expect.poll(() => asked.length).toBe(1);
  expect(check("p")).toBe(first);
  asked[0]?.answer.resolve(true);
  expect(await first).toBe("right");
  expect(check("p")).toBe("right");
  world.send("users", { Name: "anna", Secret: "two" });
  expect(check("p")).toBeInstanceOf(Promise);
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.answer.resolve(true);
  await expect.poll(() => check("p")).toBe("right");
  await clock.advance(300_000);
  expect(check("p")).toBeInstanceOf(Promise);
});

test("checks run one at a time, and an address may have sixteen waiting; known callers do not wait", async () => {
  const { asked, check } = checking();
  const known = check("p", "198.51.100.2");
  await expect.poll(() => asked.length).toBe(1);
  asked[0]?.answer.resolve(true);
  await known;
  const guesses = Array.from({ length: 17 }, (_, index) => check(`guess ${index}`));
  expect(guesses[16]).toBe("busy");
  await expect.poll(() => asked.length).toBe(2);
  expect(check("p", "198.51.100.2")).toBe("right");
  expect(check("other", "198.51.100.3")).toBeInstanceOf(Promise);
  for (let count = 1; count <= 16; count++) {
    await expect.poll(() => asked.length).toBe(count + 1);
    asked[count]?.answer.resolve(false);
  }
  expect(await guesses[15]).toBe("wrong");
});
