import { textReply, type WholeReply } from "./respond.ts";

/**
 * Things that must be well for the server to be ready; an entry answers with what is wrong, or undefined. Names are what `/readyz/<name>`
 * and `?verbose` show: lower-case letters and dashes. Checks are quick and synchronous: probes come every second.
 */
export type HealthChecks = Readonly<Record<string, () => string | undefined>>;

/**
 * `/healthz`, `/livez`, `/readyz` and their sub-checks; undefined for any other path. 200 `ok`, or 500 with a line per check, as a
 * Kubernetes API answers; `?verbose` gives the lines in both cases, `?exclude=NAME` leaves a check out (it may be given several times), an unknown sub-check is
 * 404.
 */
export function healthReply(path: string, query: URLSearchParams, checks: HealthChecks): WholeReply | undefined {
  const match = /^\/(healthz|livez|readyz)(?:\/([a-z-]+))?$/.exec(path);
  if (match === null) return undefined;
  const [, endpoint = "", only] = match;
  // A server that cannot write is alive all the same: restarting it would not help.
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
