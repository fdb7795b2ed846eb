// The pictures of README and of docs/guides/ui.md, in docs/images: a server of its own runs examples of every dialect, and a
// browser opens its pages.
//   node scripts/screenshots.mjs [DIRECTORY for the same as PNG]
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { bundle } from "./build.mjs";
import { runExamples, slipway, startServer, stopServer } from "./screenshots/server.mjs";

const images = fileURLToPath(new URL("../docs/images", import.meta.url));
const [, , others] = process.argv;
/** A page of documentation loads several. */
const mostBytes = 150_000;

/** Paths, and what to do there first. */
const viewsOf = (failed) => ({
  runs: ["/runs"],
  run: [`/runs/workflow/default/${failed}`],
  graph: ["/runs/workflow/default/release?lens=graph&step=pack"],
  timeline: ["/runs/workflow/default/release?lens=timeline&step=pack"],
  log: [`/logs/workflow/default/${failed}?step=test-roman`],
  fleet: ["/fleet"],
  approvals: ["/approvals"],
  start: [
    "/new",
    async (page) => {
      await page.getByRole("tab", { name: "Template or definition" }).click();
      await page.getByRole("combobox").selectOption({ label: "greeting (WorkflowTemplate, default)" });
      await page.getByRole("textbox", { name: /^who/ }).fill("you");
    },
  ],
});

async function takePictures(server, views) {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell"].find((path) => existsSync(path));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width: 1200, height: 720 },
      deviceScaleFactor: 1.5,
      reducedMotion: "reduce",
      ignoreHTTPSErrors: true,
    });
    const page = await context.newPage();
    await page.goto(/https:\S+/.exec(slipway(["ui"]))[0]);
    await page.getByRole("heading", { level: 1 }).waitFor();
    for (const [name, [path, prepare]] of Object.entries(views)) {
      await page.goto(`${server.url}/slipway${path}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await prepare?.(page);
      // Pictures are for people: what is not drawn by then is seen in the picture.
      await page.waitForTimeout(1000);
      await keepPicture(page, `${name}${colorScheme === "dark" ? "-dark" : ""}`);
    }
    await context.close();
  }
  await browser.close();
}

/** As WebP, which playwright itself does not make: a third of the bytes of PNG. */
async function keepPicture(page, name) {
  const session = await page.context().newCDPSession(page);
  const { data: picture } = await session.send("Page.captureScreenshot", { format: "webp", quality: 85 });
  const bytes = Buffer.from(picture, "base64");
  if (bytes.length > mostBytes) throw new Error(`${name} has ${bytes.length} bytes`);
  writeFileSync(join(images, `${name}.webp`), bytes);
  console.log(`${name}: ${bytes.length} bytes`);
  if (others !== undefined) await page.screenshot({ path: join(others, `${name}.png`) });
}

mkdirSync(images, { recursive: true });
await bundle();
const server = await startServer();
try {
  await takePictures(server, viewsOf(runExamples(server)));
} finally {
  await stopServer();
}
