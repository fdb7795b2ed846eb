import { expect, test } from "vitest";
import { movedToken, originOf } from "./token-origin.ts";

test.each([
  ["https://me@Git.example:8443/a.git", "https://git.example:8443"],
  ["http://127.0.0.1:1/a.git", "http://127.0.0.1:1"],
  ["ssh://git@h:22/x.git", "ssh://h:22"],
  ["git@Git.example:group/name.git", "ssh://git.example"],
  ["git.example:group/name.git", "ssh://git.example"],
  ["/srv/a.git", "file:"],
  ["file:///srv/a.git", "file:"],
  ["", ""],
])("a token for %s goes to %s", (gitUrl, origin) => {
  expect(originOf(gitUrl)).toBe(origin);
});

test("a change that would send the stored token to another server is refused, by whatever part of the project", () => {
  const token = { tokenSecretRef: { name: "t", key: "token" } };
  const before = { ...token, gitUrl: "https://git.example/a.git" };
  const evil = "https://evil.example/a.git";
  expect(movedToken(before, { ...before, gitUrl: evil })).toBe(
    "the project's token is for https://git.example; name a token for https://evil.example (tokenId, spec.tokenSecretRef), or none",
  );
  expect(movedToken(before, { ...before, overrides: { gitUrl: evil } })).toBeDefined();
  const overridden = { ...before, overrides: { gitUrl: "https://mirror.example/a.git" } };
  expect(movedToken(overridden, before)).toBeDefined();
  expect(movedToken(before, { ...before, gitUrl: "https://git.example/b.git" })).toBeUndefined();
  expect(movedToken(before, { gitUrl: evil })).toBeUndefined();
  expect(movedToken(before, { ...before, gitUrl: "" })).toContain("remove it together with the address");
  expect(movedToken(before, { gitUrl: evil, tokenSecretRef: { name: "other", key: "token" } })).toBeUndefined();
});
