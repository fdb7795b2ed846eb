import { describe, expect, test } from "vitest";
import { healthReply } from "./health.ts";

describe("health", () => {
  const checks = { good: () => undefined, bad: () => "broken" };
  const reply = (path: string, query = "") => {
    const found = healthReply(path, new URLSearchParams(query), checks);
    return found && { code: found.code, text: String(found.body) };
  };

  test.each([
    ["/livez", "", 200, "ok"],
    ["/healthz", "", 200, "ok"],
    ["/livez", "verbose", 200, "[+]ping ok\nlivez check passed\n"],
    ["/readyz", "", 500, "[+]ping ok\n[+]good ok\n[-]bad failed: broken\nreadyz check failed\n"],
    ["/readyz/good", "", 200, "ok"],
    ["/readyz/ping", "", 200, "ok"],
    ["/readyz/bad", "", 500, "[+]ping ok\n[-]bad failed: broken\nreadyz check failed\n"],
    ["/readyz/none", "", 404, "no such check\n"],
    ["/readyz", "exclude=bad", 200, "ok"],
    ["/readyz", "exclude=good&exclude=bad&verbose", 200, "[+]ping ok\nreadyz check passed\n"],
    ["/readyz", "exclude=none", 500, "[+]ping ok\n[+]good ok\n[-]bad failed: broken\nreadyz check failed\n"],
  ])("%s?%s is %d", (path, query, code, text) => {
    expect(reply(path, query)).toEqual({ code, text });
  });

  test.each(["/", "/readyz/", "/readyzz", "/api"])("%s is another matter", (path) => {
    expect(reply(path)).toBeUndefined();
  });
});
