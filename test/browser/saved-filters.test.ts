import { expect, test } from "vitest";
import { inspect, openShared } from "./support.ts";

const dialog = (page: Awaited<ReturnType<typeof openShared>>) => page.getByRole("dialog", { name: "Saved filters" });

test("a filter is saved, found again after a reload, renamed and deleted, with the mouse", async () => {
  const page = await openShared("/runs?filter=phase%3Afailed&sort=-duration", {
    reducedMotion: "reduce",
    bypassCSP: true,
  });
  await page.getByRole("button", { name: "Saved filters" }).click();
  await dialog(page).getByRole("textbox", { name: "Name of the present filter" }).fill("long failures");
  await dialog(page).getByRole("button", { name: "Save" }).click();
  await dialog(page).getByRole("link", { name: "long failures" }).waitFor();
  await inspect(page, "saved filters");
  await page.goto(page.url().replace(/\?.*/, ""));
  await page.getByRole("button", { name: "Saved filters" }).click();
  await dialog(page).getByRole("button", { name: "Rename long failures" }).click();
  await dialog(page).getByRole("textbox", { name: "New name of long failures" }).fill("slow failures");
  await dialog(page).getByRole("button", { name: "Rename", exact: true }).click();
  await dialog(page).getByRole("link", { name: "slow failures" }).click();
  await expect.poll(() => page.url()).toContain("filter=phase%3Afailed&sort=-duration");
  await expect.poll(() => page.getByRole("searchbox").inputValue()).toBe("phase:failed");
  await page.getByRole("button", { name: "Saved filters" }).click();
  await dialog(page).getByRole("button", { name: "Delete slow failures" }).click();
  await dialog(page).getByText("None yet.").waitFor();
});

test("the same by keyboard only, and the palette knows the filter", async () => {
  const page = await openShared("/runs?filter=duration%3E1h");
  await page.getByText("No run matches the filter").waitFor();
  await page.keyboard.press("f");
  await dialog(page).waitFor();
  const name = dialog(page).getByRole("textbox", { name: "Name of the present filter" });
  for (let presses = 0; presses < 4 && !(await name.evaluate((one) => one === document.activeElement)); presses += 1)
    await page.keyboard.press("Tab");
  await page.keyboard.type("hours");
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("link", { name: "hours" }).waitFor();
  await page.keyboard.press("Escape");
  await page.goto(page.url().replace(/\?.*/, ""));
  await page.getByRole("row").nth(1).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("filter hours");
  await page.getByRole("option", { name: /Filter: hours/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("No run matches the filter").waitFor();
});

test("what is stored and is no filter is left out", async () => {
  const page = await openShared();
  await page.evaluate(
    `localStorage.setItem("slipway.filters", JSON.stringify([1, {name: "x"}, {name: "bad", search: "https://evil"}, {name: "good", search: "?filter=a"}]))`,
  );
  await page.reload();
  await page.getByRole("button", { name: "Saved filters" }).click();
  await dialog(page).getByRole("link", { name: "good" }).waitFor();
  expect(await dialog(page).getByRole("listitem").count()).toBe(1);
});
