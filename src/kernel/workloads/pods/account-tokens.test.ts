import { expect, test } from "vitest";
import { deferred, FakeClock, silentLog } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { AccountTokenSource, PodObject } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { AccountTokens, type TokenWish } from "./account-tokens.ts";

function open() {
  const clock = new FakeClock();
  const wishes: TokenWish[] = [];
  const written: string[][] = [];
  const place = {
    clock,
    wishes,
    written,
    isRefused: false,
    /** What answers wait for. */
    before: Promise.resolve(),
    tokens: new AccountTokens({
      clock,
      log: silentLog,
      async issue(wish) {
        wishes.push(wish);
        await place.before;
        if (place.isRefused) throw new Error('serviceaccounts "builder" not found');
        return { token: `token ${wishes.length}`, expiresAt: clock.now() + 1000 * wish.seconds };
      },
      async rewrite({ spec }, tokenOf) {
        const texts = (spec.volumes?.[0]?.projected?.sources ?? []).flatMap(({ serviceAccountToken: source }) => {
          const text = source && tokenOf(source);
          return text?.ok === true ? [text.value] : [];
        });
        written.push(texts);
      },
    }),
  };
  return place;
}

function podWith(...sources: readonly AccountTokenSource[]): Stored<PodObject> {
  const projected = { sources: sources.map((serviceAccountToken) => ({ serviceAccountToken })) };
  const pod = shellPod("p", "true", { serviceAccountName: "builder", volumes: [{ name: "t", projected }] });
  return {
    ...pod,
    metadata: { ...pod.metadata, name: "p", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
  };
}

const hour = { path: "token", expirationSeconds: 3600 };

test("a token is for the pod's account and this very pod, with the audience and time of its source", async () => {
  const { tokens, wishes } = open();
  const other = { path: "other", audience: "vault" };
  const tokenOf = await tokens.issueFor(podWith({ ...hour, expirationSeconds: 600 }, other));
  const common = { namespace: "default", account: "builder", pod: { name: "p", uid: "u" } };
  expect(wishes).toEqual([
    { ...common, seconds: 600 },
    { ...common, seconds: 3600, audience: "vault" },
  ]);
  expect(tokenOf({ path: "nobody's" })).toMatchObject({ ok: false });
  tokens.close();
});

test("a token is replaced when four fifths of its time are over, and again", async () => {
  const { tokens, clock, written } = open();
  const pod = podWith(hour);
  await tokens.issueFor(pod);
  await clock.advance(2_879_000);
  expect(written).toEqual([]);
  await clock.advance(1_000);
  expect(written).toEqual([["token 2"]]);
  await clock.advance(2_880_000);
  expect(written).toEqual([["token 2"], ["token 3"]]);
  tokens.forget("u");
  await clock.advance(86_400_000);
  expect(written).toHaveLength(2);
});

test("the tokens of a pod that an earlier process has left are replaced at once, and only once", async () => {
  const { tokens, clock, written } = open();
  const pod = podWith(hour);
  tokens.adopt(pod);
  tokens.adopt(pod);
  await clock.advance(0);
  tokens.adopt(pod);
  await clock.advance(1_000);
  expect(written).toEqual([["token 1"]]);
  tokens.adopt(shellPod("plain", "true") as Stored<PodObject>);
  tokens.close();
});

test.each(["forgotten", "closed"])(
  "nothing comes back of a pod that was %s while its tokens were asked for",
  async (how) => {
    const place = open();
    const answers = deferred<void>();
    place.before = answers.promise;
    place.tokens.adopt(podWith(hour));
    await place.clock.advance(0);
    expect(place.wishes).toHaveLength(1);
    if (how === "forgotten") place.tokens.forget("u");
    else place.tokens.close();
    answers.resolve();
    await place.clock.advance(86_400_000);
    expect([place.wishes.length, place.written]).toEqual([1, []]);
  },
);

test("a refusal is told in the server's words, and the next try comes within a minute", async () => {
  const place = open();
  place.isRefused = true;
  const source = hour;
  const tokenOf = await place.tokens.issueFor(podWith(source));
  expect(tokenOf(source)).toEqual({
    ok: false,
    error: 'failed to fetch token: serviceaccounts "builder" not found',
  });
  place.isRefused = false;
  await place.clock.advance(60_000);
  expect(place.written).toEqual([["token 2"]]);
  place.tokens.close();
});
