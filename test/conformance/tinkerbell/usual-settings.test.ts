import { expect, test } from "vitest";
import { parseDuration } from "#lib/base/index.ts";
import { tinkOptions } from "#dialects/tinkerbell/options.ts";
import { defaultSettings } from "#dialects/tinkerbell/settings.ts";

test("the help tells the values that are usual", () => {
  const summaryOf = (name: string) => tinkOptions.find(({ flags }) => flags.startsWith(`--tink-${name} `))?.summary;
  const usual = {
    "scheduled-timeout": defaultSettings.scheduledTimeout,
    "cancelling-timeout": defaultSettings.cancellingTimeout,
    "reject-backoff-base": defaultSettings.rejectBackoff.base,
    "reject-backoff-max": defaultSettings.rejectBackoff.max,
    "agent-lost-timeout": defaultSettings.agentLostTimeout,
  } as const;
  for (const [name, value] of Object.entries(usual)) {
    const [, told = ""] = /\(default: (\w+)\)$/.exec(summaryOf(name) ?? "") ?? [];
    expect(parseDuration(told), name).toEqual({ ok: true, value });
  }
  expect(summaryOf("reject-backoff-jitter")).toContain(`(default: ${defaultSettings.rejectBackoff.jitter})`);
  expect(summaryOf("interrupted-actions")).toContain(`${defaultSettings.interruptedActions} (default)`);
  expect(summaryOf("max-action-attempts")).toContain(`(default: ${defaultSettings.maxActionAttempts})`);
  expect(summaryOf("max-render-bytes")).toContain(`(default: ${defaultSettings.maxRenderBytes})`);
});
