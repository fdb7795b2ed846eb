import { expect, test } from "vitest";
import { readTinkOptions, tinkOptions, usualTinkListen } from "./options.ts";

const read = (options: Readonly<Record<string, string>>, variables: Readonly<Record<string, string>> = {}) =>
  readTinkOptions({ options, variable: (name) => variables[name], resolve: (path) => `/here/${path}` });

const valueOf = (...given: Parameters<typeof read>) => {
  const answer = read(...given);
  if (!answer.ok) throw new Error(answer.error.join("\n"));
  return answer.value;
};

const problemsOf = (...given: Parameters<typeof read>) => {
  const answer = read(...given);
  return answer.ok ? [] : answer.error;
};

test("where nothing is said, agents connect at the usual address, if it is free", () => {
  expect(valueOf({}).listen).toEqual({ address: usualTinkListen, isUsual: true });
  expect(valueOf({ tinkListen: usualTinkListen }).listen).toEqual({ address: usualTinkListen, isUsual: false });
  expect(valueOf({ tinkListen: "off" }).listen).toBeUndefined();
});

test("an option is said by its flag, else by its variable", () => {
  const variables = { SLIPWAY_TINK_LISTEN: "[::1]:7", SLIPWAY_TINK_POLL_HOLD: "5s" };
  expect(valueOf({}, variables)).toMatchObject({ listen: { address: "[::1]:7", isUsual: false }, pollHold: 5000 });
  expect(valueOf({ tinkPollHold: "1m" }, variables)).toMatchObject({ pollHold: 60_000 });
});

test("everything can be said", () => {
  const given = {
    tinkListen: "0.0.0.0:1",
    tinkTlsCert: "crt",
    tinkTlsKey: "key",
    tinkClientCa: "ca",
    tinkAuth: "mtls",
    tinkAnonymousAuth: "false",
    tinkScheduledTimeout: "1s",
    tinkCancellingTimeout: "2s",
    tinkRejectBackoffBase: "3s",
    tinkRejectBackoffMax: "4s",
    tinkRejectBackoffJitter: "0.5",
    tinkInterruptedActions: "Fail",
    tinkMaxActionAttempts: "5",
    tinkAgentLostTimeout: "0",
    tinkPollHold: "6s",
    tinkKeepaliveTime: "7s",
    tinkKeepaliveTimeout: "8s",
    tinkMaxRenderBytes: "9",
  };
  expect(Object.keys(given)).toHaveLength(tinkOptions.length);
  expect(valueOf(given)).toEqual({
    listen: { address: "0.0.0.0:1", isUsual: false },
    settings: {
      scheduledTimeout: 1000,
      cancellingTimeout: 2000,
      rejectBackoff: { base: 3000, max: 4000, jitter: 0.5 },
      interruptedActions: "Fail",
      maxActionAttempts: 5,
      agentLostTimeout: 0,
      maxRenderBytes: 9,
    },
    tls: { certificate: "/here/crt", key: "/here/key", clientCa: "/here/ca" },
    auth: "mtls",
    pollHold: 6000,
    keepalive: { time: 7000, timeout: 8000 },
  });
  expect(valueOf({ tinkAuth: "token" }).auth).toBe("token");
  expect(valueOf({ tinkAnonymousAuth: "true" }).allowsAnonymous).toBe(true);
});

test("everything that is wrong is told at once", () => {
  const problems = problemsOf(
    {
      tinkListen: "42113",
      tinkTlsCert: "crt",
      tinkAuth: "basic",
      tinkScheduledTimeout: "2",
      tinkCancellingTimeout: "0s",
      tinkRejectBackoffJitter: "1.1",
      tinkInterruptedActions: "rerun",
      tinkMaxActionAttempts: "0",
      tinkAgentLostTimeout: "-1s",
    },
    { SLIPWAY_TINK_MAX_RENDER_BYTES: "256Ki" },
  );
  expect(problems).toEqual([
    '--tink-listen: expected HOST:PORT or off, found "42113"',
    "expected both of --tink-tls-cert and --tink-tls-key, or none",
    '--tink-auth: expected token or mtls, found "basic"',
    '--tink-scheduled-timeout: expected a duration such as 1h30m, 45s or 300ms, found "2"',
    "--tink-cancelling-timeout: expected a duration above 0, found 0s",
    '--tink-reject-backoff-jitter: expected a number from 0 to 1, found "1.1"',
    '--tink-interrupted-actions: expected Rerun or Fail, found "rerun"',
    '--tink-max-action-attempts: expected a whole number above 0, found "0"',
    "--tink-agent-lost-timeout: expected no negative duration, found -1s",
    '--tink-max-render-bytes: expected a whole number above 0, found "256Ki"',
  ]);
});

test.each([
  [{ tinkAuth: "mtls" }, "--tink-auth mtls needs --tink-tls-cert, --tink-tls-key and --tink-client-ca"],
  [
    { tinkTlsCert: "c", tinkTlsKey: "k", tinkClientCa: "ca", tinkAuth: "mtls", tinkAnonymousAuth: "true" },
    "--tink-anonymous-auth and --tink-auth mtls exclude each other",
  ],
  [{ tinkClientCa: "ca" }, "--tink-client-ca needs --tink-tls-cert and --tink-tls-key"],
])("%j needs more", (given, message) => {
  expect(problemsOf(given)).toEqual([message]);
});
