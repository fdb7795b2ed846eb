import { expect, test } from "vitest";
import { formatFilter, parseFilter, queryOf, togglePhase } from "./filter.ts";

test("tokens and text become a filter, and a filter becomes the same line", () => {
  const line = "phase:failed,running dialect:wharf ns:prod label:team=a some text";
  const filter = parseFilter(line);
  expect(filter).toMatchObject({ phase: ["Failed", "Running"], dialect: ["wharf"], namespace: ["prod"], text: "some text" });
  expect(formatFilter(filter)).toBe(line);
  expect(queryOf(filter, 0)).toEqual({ phase: "Failed,Running", dialect: "wharf", namespace: "prod", label: "team=a", text: "some text" });
});

test("since takes a duration or a date; any other value is searched as text", () => {
  const now = Date.UTC(2026, 10, 28);
  expect(queryOf(parseFilter("since:2h"), now)).toEqual({ since: String(now - 7_200_000) });
  expect(queryOf(parseFilter("since:2026-11-27"), now)).toEqual({ since: String(now - 86_400_000) });
  expect(formatFilter(parseFilter("since:3d since:2h x"))).toBe("since:2h x");
  expect(parseFilter("since:yesterday")).toMatchObject({ since: [], text: "since:yesterday" });
});

test("what is no token is text", () => {
  expect(parseFilter("http://x constructor:y").text).toBe("http://x constructor:y");
});

test("a phase is switched on and off", () => {
  const on = togglePhase(parseFilter("x"), "Failed");
  expect(formatFilter(on)).toBe("phase:failed x");
  expect(formatFilter(togglePhase(on, "Failed"))).toBe("x");
});

test("durations are bounded by signs; of several bounds the strictest counts", () => {
  const filter = parseFilter("duration>5m duration<1h30m duration>90s x");
  expect(queryOf(filter, 0)).toEqual({ longer: "300000", shorter: "5400000", text: "x" });
  expect(formatFilter(filter)).toBe("duration>5m duration<1h30m duration>90s x");
  for (const word of ["duration>soon", "duration:5m", "a<b", "duration"]) expect(parseFilter(word).text).toBe(word);
});
