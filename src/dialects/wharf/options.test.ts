import { expect, test } from "vitest";
import { readWharfOptions, usualWharfListen, wharfOptions } from "./options.ts";

const read = (options: Readonly<Record<string, string>>, variables: Readonly<Record<string, string>> = {}) =>
  readWharfOptions({ options, variable: (name) => variables[name], resolve: (path) => `/here/${path}` }, {}, workers);
const workers = { program: { words: ["slipway"], environment: {} }, runtime: "host" } as const;
/** As it is when nobody says anything. */
const provisioner = { ...workers, listen: { address: "127.0.0.1:5009", isUsual: true }, allowLocalRepos: true };

test("where nothing is said, wharf-api answers at the usual address, if it is free", () => {
  expect(read({})).toEqual({ ok: true, value: { listen: { address: usualWharfListen, isUsual: true }, provisioner } });
  expect(read({ wharfListen: "off" })).toEqual({ ok: true, value: { provisioner } });
  expect(read({ wharfListen: "off", wharfProvisionerListen: "off" })).toEqual({ ok: true, value: {} });
  expect(read({}, { SLIPWAY_WHARF_LISTEN: "127.0.0.1:0" })).toEqual({
    ok: true,
    value: { listen: { address: "127.0.0.1:0", isUsual: false }, provisioner },
  });
});

test("everything can be said", () => {
  const given = {
    wharfListen: "0.0.0.0:1",
    wharfAuthTokenFile: "token",
    wharfAnonymousAuth: "true",
    wharfNamespace: "ci",
    wharfInstance: "prod",
    wharfAggregator: "off",
    wharfWatchdog: "off",
    wharfEngineUrl: "http://127.0.0.1:5009/api/worker",
    wharfEngineTokenFile: "theirs",
    wharfProvisionerListen: "0.0.0.0:2",
    wharfBackend: "docker",
    wharfMaxWorkers: "4",
    wharfDrain: "5m",
  };
  expect(Object.keys(given)).toHaveLength(wharfOptions.length);
  expect(read(given)).toEqual({
    ok: true,
    value: {
      listen: { address: "0.0.0.0:1", isUsual: false },
      tokenFile: "/here/token",
      allowsAnonymous: true,
      namespace: "ci",
      instance: "prod",
      aggregator: "off",
      watchdog: "off",
      engineUrl: "http://127.0.0.1:5009/api/worker",
      engineTokenFile: "/here/theirs",
      provisioner: {
        ...workers,
        listen: { address: "0.0.0.0:2", isUsual: false },
        allowLocalRepos: false,
        backend: { name: "docker", settings: {} },
        maxWorkers: 4,
        drainMs: 300_000,
      },
    },
  });
});

test("everything that is wrong is told at once", () => {
  expect(read({ wharfListen: "5001", wharfNamespace: "A b", wharfEngineUrl: "ftp://x" })).toEqual({
    ok: false,
    error: [
      '--wharf-listen: expected HOST:PORT or off, found "5001"',
      '--wharf-namespace: expected lower-case letters, digits and dashes, found "A b"',
      '--wharf-engine-url: expected a URL of http or https, found "ftp://x"',
    ],
  });
});

test("a token for an engine needs one", () => {
  expect(read({ wharfEngineTokenFile: "theirs" })).toEqual({
    ok: false,
    error: ["--wharf-engine-token-file is for --wharf-engine-url, which is not given"],
  });
});
