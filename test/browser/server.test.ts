import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { openPage } from "./support.ts";

// Against the real thing: a login by link, runs that really run, and actions that controllers answer.

let directory: string;
let server: TestServer;
const cli = (...args: string[]) => slipway(args, { env: { SLIPWAY_DATA_DIR: server.directory } });
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

async function login(path = "/runs") {
  const { out, err } = await cli("ui", "-o", "json");
  const { link } = JSON.parse(out === "" ? `{"link":${JSON.stringify(err)}}` : out) as { readonly link: string };
  const page = await openPage(link);
  await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
  expect(page.url()).not.toContain("code=");
  if (path !== "/runs") await page.goto(`${server.url}/slipway${path}`);
  return page;
}

test("a link logs in once; the page follows a run of the command line to its end, with its log", async () => {
  const page = await login();
  await page.getByText("No runs yet").waitFor();
  const { code, err } = await cli("run", "examples/workflow/hello.yaml", "--param", "name=you");
  expect(code, err).toBe(0);
  const row = page.getByRole("row", { name: /^Succeeded hello/ });
  await row.waitFor();
  await row.getByRole("link").click();
  await page
    .getByRole("treeitem", { name: /Succeeded/ })
    .first()
    .click();
  await page.getByRole("tab", { name: "Log" }).click();
  await page.getByText(/hello/i).last().waitFor();
  await page.getByRole("tab", { name: "YAML" }).click();
  await page.getByText("apiVersion:").waitFor();
  await page.getByRole("tab", { name: "Events" }).click();
  await page.getByRole("columnheader", { name: "Reason" }).waitFor();
});

const question = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: question}
spec:
  steps:
    ask: {approval: {message: Go on?}}
`;

test("a person approves in the page, and the run goes on", async () => {
  const file = join(directory, "question.yaml");
  await writeFile(file, question);
  const started = await cli("run", file, "--detach");
  expect(started.code, started.err).toBe(0);
  const page = await login();
  await page
    .getByRole("row", { name: /question.*waits for approval/ })
    .getByRole("link")
    .click();
  await page
    .getByRole("region", { name: "Step ask" })
    .getByRole("button", { name: /^Approve/ })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await page
    .getByText(/^Approve (accepted|sent)/)
    .first()
    .waitFor();
  await page.getByRole("treeitem", { name: /ask/ }).getByText("Succeeded").waitFor();
});

test("without a session the page asks for a code, and says how to get one", async () => {
  const page = await openPage(`${server.url}/slipway/runs`);
  await page.getByText("Not logged in").waitFor();
  await page.getByLabel("One-time code").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".connection-bar").getByRole("alert").waitFor();
});
