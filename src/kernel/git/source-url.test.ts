import { describe, expect, test } from "vitest";
import { hasPassword, readSourceUrl, withoutPassword } from "./source-url.ts";

const read = (text: string, allowLocal = false) => {
  const found = readSourceUrl(text, { allowLocal, allowedBy: "provisioner.allowLocalRepos" });
  return found.ok ? found.value : found.error;
};

describe("addresses that are taken", () => {
  test.each([
    ["https://example.org/a/b.git", "https"],
    ["http://example.org:8080/a/b", "http"],
    ["ssh://git@example.org/a/b.git", "ssh"],
    ["git://example.org/a.git", "git"],
    ["git@example.org:a/b.git", "ssh"],
    ["example.org:a/b.git", "ssh"],
    ["git@[::1]:a/b.git", "ssh"],
  ])("%s", (url, scheme) => {
    expect(read(url)).toEqual({ url, scheme });
  });

  test("a user and a password of HTTP are credentials, and no part of what Git is told", () => {
    expect(read("https://me:s%40cret@example.org/a.git")).toEqual({
      url: "https://example.org/a.git",
      scheme: "https",
      user: "me",
      password: "s@cret",
    });
    expect(read("https://token@example.org/a.git")).toMatchObject({ url: "https://example.org/a.git", user: "token" });
    expect(read("ssh://me:secret@example.org/a.git")).toEqual({ url: "ssh://me@example.org/a.git", scheme: "ssh" });
  });

  test("repositories of this machine only where that is allowed", () => {
    expect(read("/srv/a.git", true)).toEqual({ url: "/srv/a.git", scheme: "file" });
    expect(read("file:///srv/a.git", true)).toEqual({ url: "file:///srv/a.git", scheme: "file" });
    expect(read("/srv/a.git")).toContain("allowLocalRepos");
    expect(read("FILE:///srv/a.git")).toContain("allowLocalRepos");
  });
});

test.each([
  "",
  "--upload-pack=touch /tmp/pwned",
  "-c core.sshCommand=x",
  "ext::sh -c touch% /tmp/pwned",
  "fd::17/foo",
  "ext::https://example.org/a",
  "ftp://example.org/a",
  "javascript://example.org/a",
  "https:///a",
  "https://",
  "https://example.org\\@example.com/a",
  "ssh://-oProxyCommand=touch%20x/a",
  "ssh://-oProxyCommand=x@host/a",
  "-oProxyCommand=x:a",
  "me@-oProxyCommand=x:a",
  "host:-a",
  "host:",
  "https://example.org/a\nb",
  "https://example.org/a\u0000b",
  "https://exam\u001b[1mple.org/a",
  "https://me:a%0Ahost=evil.example@example.org/a",
  "relative/path",
  "../a",
])("is not taken: %j", (url) => {
  expect(readSourceUrl(url, { allowLocal: true })).toMatchObject({ ok: false });
});

test("what is said of an address never repeats it", () => {
  for (const url of ["ftp://me:hunter2@example.org/a", "hunter2", "https://me:hunter2@", "-hunter2", "ext::hunter2"])
    expect(read(url)).not.toContain("hunter2");
});

test.each([
  ["https://me:hunter2@example.org/a.git", "https://me:***@example.org/a.git"],
  ["https://:hunter@2@example.org:8443/a", "https://:***@example.org:8443/a"],
  ["https://me@example.org:8443/a@b", undefined],
  ["https://[::1]:8443/a@b", undefined],
  ["ssh://git@example.org:22/a", undefined],
  ["git@example.org:tools/a@b.git", undefined],
])("the password of %s is found", (url, shown) => {
  expect([hasPassword(url), withoutPassword(url)]).toEqual([shown !== undefined, shown ?? url]);
});
