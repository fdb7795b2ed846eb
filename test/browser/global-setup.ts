import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

const program = ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell"].find(existsSync);

declare module "vitest" {
  interface ProvidedContext {
    /** Where the one browser of the test run listens. */
    browser: string;
  }
}

/** One browser for all files; each test has a context of its own. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  if (program === undefined)
    throw new Error("the tests of the web UI need a browser: apt-get install -y --no-install-recommends chromium");
  // Tests run as root, where the browser has no sandbox of its own.
  const server = await chromium.launchServer({ executablePath: program, args: ["--no-sandbox"] });
  provide("browser", server.wsEndpoint());
  return () => server.close();
}
