import { expect, test } from "vitest";
import { knownActions } from "../packages.ts";
import { providers } from "./index.ts";
import { useCaseProviders } from "./usecases.ts";

test("every action that a package declares is carried out by a provider", async () => {
  const templates = { renderChart: () => Promise.reject(new Error("nothing is rendered here")) };
  const all = { ...providers, ...useCaseProviders({ templates, directory: "/", environment: {} }) };
  const actions = await knownActions();
  expect(actions.length).toBeGreaterThan(50);
  expect(actions.filter((action) => !Object.hasOwn(all, action))).toEqual([]);
});
