import { textReply, type WholeReply } from "./respond.ts";

/** Each check returns a problem or undefined, quickly. Names are lower-case letters and dashes. */
export type HealthChecks = Readonly<Record<string, () => string | undefined>>;

/** 200 `ok` or 500 with a line per check. `?verbose` prints lines, `?exclude=NAME` skips a check. */
export function healthReply(path: string, query: URLSearchParams, checks: HealthChecks): WholeReply | undefined {
  const match = /^\/(healthz|livez|readyz)(?:\/([a-z-]+))?$/.exec(path);
  if (match === null) return undefined;
  const [, endpoint = "", only] = match;
  // A server that cannot write is still alive: restarting it would not help.
  const excluded = query.getAll("exclude");
  const considered = Object.entries(endpoint === "readyz" || only !== undefined ? checks : {}).filter(
    ([name]) => !excluded.includes(name),
  );
  const selected = only === undefined ? considered : considered.filter(([name]) => name === only);
  if (only !== undefined && only !== "ping" && selected.length === 0) return textReply("no such check\n", 404);
  const results = selected.map(([name, check]) => ({ name, problem: check() }));
  const healthy = results.every(({ problem }) => problem === undefined);
  if (healthy && !query.has("verbose")) return textReply("ok");
  const lines = [{ name: "ping", problem: undefined }, ...results].map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  const verdict = `${endpoint} check ${healthy ? "passed" : "failed"}`;
  return textReply(`${lines.join("\n")}\n${verdict}\n`, healthy ? 200 : 500);
}

/** The Kubernetes minor version whose rules this server follows. */
const major = "1";
const minor = "33";

/** kubectl warns beyond one minor version. `gitVersion` has Slipway's version: `v1.33.0+slipway.0.1.0`. */
export const versionInfo = (slipwayVersion: string): Readonly<Record<string, string>> => ({
  major,
  minor,
  gitVersion: `v${major}.${minor}.0+slipway.${slipwayVersion}`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "node",
  platform: `${process.platform}/${process.arch}`,
});
