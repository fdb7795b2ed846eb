import { signal } from "@preact/signals";
import type { Instant } from "#lib/base/index.ts";
import type { StreamLine, Subscription, Subscriptions } from "#app/ui/wire.ts";
import { keepSessionKey, RequestFailure, requestJson, send } from "./api.ts";
import { readLines, Stream } from "./stream.ts";
import { clock, serverNow } from "./time.ts";

export type Connection =
  | { readonly is: "connecting" | "online" }
  | { readonly is: "away"; readonly since: Instant; readonly message: string }
  | { readonly is: "lost"; readonly since: Instant; readonly retryAt: Instant; readonly message: string }
  | { readonly is: "signed-out"; readonly message: string };

export const connection = signal<Connection>({ is: "connecting" });

/** Why nothing can be changed now, or undefined. */
export const obstacle = (): string | undefined => {
  switch (connection.value.is) {
    case "lost":
      return "The server is not reachable";
    case "away":
      return "The cluster does not answer";
    case "signed-out":
      return "You are not logged in";
    case "connecting":
    case "online":
      return undefined;
  }
};

async function* bytesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // A connection that is already lost rejects.
    reader.cancel().catch(() => undefined);
  }
}

async function* openStream(subscriptions: readonly Subscription[], signal: AbortSignal): AsyncGenerator<StreamLine> {
  const body: Subscriptions = { subscriptions };
  const response = await send("POST", "/stream", { body, signal, accept: "application/x-ndjson, application/json" });
  if (response.body !== null) yield* readLines(bytesOf(response.body));
}

export const stream = new Stream({
  transport: {
    open: openStream,
    async change(token, subscriptions, signal) {
      const body: Subscriptions = { subscriptions };
      await send("POST", `/stream/${encodeURIComponent(token)}`, { body, signal });
    },
  },
  clock,
  random: () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32,
  onConnected: () => {
    connection.value = { is: "online" };
  },
  onAlive: (message) => {
    const before = connection.peek();
    if (message === undefined && before.is === "away") connection.value = { is: "online" };
    if (message !== undefined && before.is !== "away") connection.value = { is: "away", since: serverNow(), message };
  },
  onLost: (thrown, retryIn) => noteLost(thrown, retryIn),
});

function noteLost(thrown: unknown, retryIn: number): void {
  if (thrown instanceof RequestFailure && thrown.status === 401) return noteSignedOut(thrown);
  const before = connection.peek();
  const at = serverNow();
  connection.value = {
    is: "lost",
    since: before.is === "lost" ? before.since : at,
    retryAt: at + retryIn,
    message: thrown instanceof Error ? thrown.message : "the connection was closed",
  };
}

/** Reports an answer that says that there is no session. The first reason stays: it is the one of what the user did. */
export function noteSignedOut(thrown: unknown): void {
  if (thrown instanceof RequestFailure && thrown.status === 401 && connection.peek().is !== "signed-out") {
    connection.value = { is: "signed-out", message: thrown.message };
  }
}

const codeRefused = (refusal: RequestFailure): RequestFailure =>
  new RequestFailure(refusal.tried, 401, refusal.reason, "Each link or code works once, within five minutes");

/** A link of another user than the one who is logged in, who decides. */
export const foreignLink = signal<{ readonly code: string; readonly message: string } | undefined>(undefined);

/** Exchanges a code of `slipway ui` for the session's cookie and key. A session of the same user is kept. */
export async function login(code: string, isReplacing = false): Promise<void> {
  const body = { code, ...(isReplacing ? { replace: true } : {}) };
  try {
    const { key } = await requestJson<{ readonly key?: string }>("POST", "/session", { body });
    if (key !== undefined) keepSessionKey(key);
  } catch (thrown) {
    if (!(thrown instanceof RequestFailure)) throw thrown;
    if (thrown.status === 401) throw codeRefused(thrown);
    if (thrown.status !== 409) throw thrown;
    foreignLink.value = { code, message: thrown.message };
    return;
  }
  connection.value = { is: "connecting" };
  stream.retryNow();
}

/** The code of the link, which is taken out of the address at once, so that it is not in the history. */
export function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null) return undefined;
  history.replaceState(history.state, "", location.pathname + location.search);
  return code;
}
