import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { newKeyPair, open, seal } from "../secure/box.ts";
import type { JsonObject } from "#lib/base/index.ts";
import type { Machine } from "../objects.ts";
import { readObject } from "../model/read.ts";
import type { Renderer, RenderSubject } from "../render.ts";
import { MemoryWorld, type Sent } from "../testing/memory-world.ts";
import { createRenderer } from "./renderer.ts";

// What clients write of objects; what a test does not name has its default.
const aTask = (parts: JsonObject): JsonObject => ({ Name: "t", ...parts });
const aTemplateInfo = (parts: JsonObject): JsonObject => ({ Name: "script", ...parts });
const aStage = (parts: JsonObject): JsonObject => ({ Name: "none", ...parts });
const aProfile = (parts: JsonObject): JsonObject => ({ Name: "p", ...parts });
const aTemplate = (ID: string, Contents: string): JsonObject => ({ ID, Contents });
const worldOf = (sent: Sent): MemoryWorld => new MemoryWorld(sent);

const uuid = "3e7031fe-3062-45f1-835c-92541bc9cbd3";
const withDefaults = { Name: "m.example.com", Uuid: uuid, Stage: "none", BootEnv: "local" };

function aMachine(parts: JsonObject = {}): Machine {
  const read = readObject("machines", { ...withDefaults, ...parts });
  if (!read.ok) throw new Error(read.error.Messages.join("; "));
  return read.value;
}

const keys = newKeyPair((length) => randomBytes(length));
let host: TemplateHost;
let renderer: Renderer;
let asked = 0;

beforeAll(async () => {
  host = await realHost();
  renderer = createRenderer({
    templates: {
      ask: (question, signal, budgetMs) => {
        asked++;
        return host.ask(question, signal, budgetMs);
      },
    },
    place: {
      provisionerUrl: "http://10.0.0.1:8091",
      apiUrl: "https://10.0.0.1:8092",
      machineToken: (machine, seconds) => `machine ${machine?.Name ?? "none"} ${seconds}`,
      profileToken: (profile, seconds) => `profile ${profile} ${seconds}`,
      open: (owner, sealed) => {
        const opened = open(keys.secretKey, sealed);
        if (owner === uuid && opened.ok) return Promise.resolve(opened.value);
        return Promise.reject(new Error(`a secure param of ${owner} cannot be opened`));
      },
      hasTree: (path) => path === "debian-9/install",
      info: () => ({ version: "v4.8.0", api_port: 8092 }),
    },
  });
});

afterAll(() => host.close());

const textOf = (rendered: Awaited<ReturnType<Renderer["actions"]>>): string =>
  rendered.ok ? rendered.value.map(({ Content }) => Content).join("") : `failed: ${rendered.error.Messages.join("; ")}`;

const subjectOf = (parts: Partial<RenderSubject>): RenderSubject => ({
  collection: "tasks",
  name: "t",
  machine: aMachine(),
  os: "linux",
  ...parts,
});

/** What a task with this one script renders to. */
const script = async (text: string, objects: Sent = {}, machine: JsonObject = {}): Promise<string> =>
  textOf(
    await renderer.actions(
      worldOf({ tasks: [aTask({ Templates: [aTemplateInfo({ Contents: text })] })], ...objects }),
      subjectOf({ machine: aMachine(machine) }),
    ),
  );

const withTemplates = (Templates: readonly JsonObject[], more: Sent = {}) =>
  worldOf({ tasks: [aTask({ Templates })], ...more });

const inBootEnv = (
  bootEnv: JsonObject & { readonly Name: string },
  text: string,
  machine: JsonObject = {},
  more: Sent = {},
) => script(text, { bootenvs: [bootEnv], ...more }, { BootEnv: bootEnv.Name, ...machine });

const named = (Name: string, value: string, Profiles: readonly string[] = []) =>
  aProfile({ Name, Params: { k: value }, Profiles });

test.each([
  ["1: the machine's own", { Params: { k: "machine" } }, "machine"],
  ["2: its profiles, in order", {}, "profile"],
  ["2: profiles in profiles", { Profiles: ["outer"] }, "nested"],
  ["3: its stage", { Profiles: [] }, "stage"],
  ["4: the stage's profiles", { Profiles: [], Stage: "plain" }, "of stage"],
  ["5: the profile global", { Profiles: [], Stage: "none" }, "global"],
  ["an explicit false", { Params: { k: false } }, "false"],
  ["an explicit null", { Params: { k: null } }, "<no value>"],
])("15.28 a param is found in %s", async (_title, machine, expected) => {
  const objects = {
    profiles: [
      named("first", "profile"),
      named("second", "second"),
      named("nested", "nested"),
      aProfile({ Name: "outer", Profiles: ["outer", "nested"] }),
      named("stage's", "of stage"),
      named("global", "global"),
    ],
    stages: [
      aStage({ Name: "own", Params: { k: "stage" }, Profiles: ["stage's"] }),
      aStage({ Name: "plain", Profiles: ["stage's"] }),
      aStage({}),
    ],
    params: [{ Name: "k", Schema: { default: "default" } }],
  };
  const text = '{{.Param "k"}}{{if not (.ParamExists "k")}} missing{{end}}';
  expect(await script(text, objects, { Profiles: ["first", "second"], Stage: "own", ...machine })).toBe(expected);
});

test("15.28 a param is found in 6: the default of its schema", async () => {
  expect(await script('{{.Param "k"}}', { params: [{ Name: "k", Schema: { default: "default" } }] })).toBe("default");
});

test("15.28 a param without any value is an error of the template, and does not exist", async () => {
  expect(await script('{{.ParamExists "k"}}')).toBe("false");
  expect(await script('{{.Param "k"}}')).toBe(
    'failed: template: script:1:2: executing "script" at <.Param>: error calling Param: No such machine parameter k',
  );
});

test("15.29 a missing key is an error in Go's words, with its place", async () => {
  expect(await script('\n{{ (.Param "m").x }}', {}, { Params: { m: {} } })).toBe(
    'failed: template: script:2:11: executing "script" at <"m">: map has no entry for key "x"',
  );
});

test("15.29 templates call templates, by a fixed name and by a computed one", async () => {
  const templates = [aTemplate("a.tmpl", 'a{{template "b.tmpl" .}}'), aTemplate("b.tmpl", '{{.Param "k"}}')];
  const text =
    '{{template "a.tmpl" .}} {{.CallTemplate (printf "%s.tmpl" "b") .}} {{$.CallTemplate (.Param "which") $}}';
  expect(await script(text, { templates }, { Params: { k: 1, which: "a.tmpl" } })).toBe("a1 1 a1");
  expect(await script('{{.CallTemplate "none" .}}')).toMatch(/error calling CallTemplate: Missing template: none$/);
  expect(await script('{{template "none"}}')).toMatch(/template "none" not defined$/);
});

test("15.29 a template may define others; inline contents may not", async () => {
  const templates = [aTemplate("lib", '{{define "part"}}<{{.}}>{{end}}')];
  expect(await script('{{template "part" 1}}', { templates })).toBe("<1>");
  expect(await script('{{define "x"}}{{end}}')).toBe("failed: template: script:1: unexpected <define> in command");
});

test("15.29 templates of a task replace those with the same ID", async () => {
  const infos = [
    aTemplateInfo({ Name: "first", Contents: '{{template "x" .}}' }),
    aTemplateInfo({ Name: "x", Contents: "inline" }),
  ];
  const world = withTemplates(infos, { templates: [aTemplate("x", "common")] });
  expect(textOf(await renderer.actions(world, subjectOf({})))).toBe("inlineinline");
});

test("15.29 numbers are floats, and Sprig has no clock and no environment", async () => {
  const params = { n: 10_000_000, small: 5, o: { b: 1, a: [1.5] } };
  expect(
    await script(
      '{{.Param "n"}} {{.Param "n" | int}} {{.Param "small"}} {{.Param "o" | toJson}}',
      {},
      { Params: params },
    ),
  ).toBe('1e+07 10000000 5 {"a":[1.5],"b":1}');
  for (const name of ["now", "ago", "env", "expandenv"])
    expect(await script(`{{${name}}}`)).toBe(`failed: template: script:1: function "${name}" not defined`);
});

test("15.29 only templates for the system are rendered, in the order of the list", async () => {
  const infos = [
    aTemplateInfo({ Name: "w", Contents: "w", Meta: { OS: "windows" } }),
    aTemplateInfo({ Name: "l", Contents: "l", Meta: { OS: "darwin, linux", Interpreter: "bash" } }),
    aTemplateInfo({ Name: "a", Contents: "a", Meta: { OS: "any" } }),
    aTemplateInfo({ Name: "n", ID: "n.tmpl" }),
  ];
  const world = withTemplates(infos, { templates: [aTemplate("n.tmpl", "n")] });
  const rendered = await renderer.actions(world, subjectOf({}));
  expect(rendered).toEqual({
    ok: true,
    value: [
      { Name: "l", Path: "", Content: "l", Meta: { OS: "darwin, linux", Interpreter: "bash" } },
      { Name: "a", Path: "", Content: "a", Meta: { OS: "any" } },
      { Name: "n.tmpl", Path: "", Content: "n", Meta: {} },
    ],
  });
  expect(textOf(await renderer.actions(world, subjectOf({ os: "" })))).toBe("wlan");
});

test("15.20 a template with a path is a file: relative and cleaned in a task, from the root in a stage", async () => {
  const infos = [
    aTemplateInfo({ Name: "file", Path: "etc/./{{.Machine.ShortName}}/../out.txt", Contents: "x" }),
    aTemplateInfo({ Name: "script", Contents: "cat etc/out.txt" }),
  ];
  const world = withTemplates(infos, { stages: [aStage({ Name: "s", Templates: infos.slice(0, 1) })] });
  const paths = async (subject: Partial<RenderSubject>) => {
    const rendered = await renderer.actions(world, subjectOf(subject));
    return rendered.ok ? rendered.value.map(({ Path }) => Path) : rendered.error.Messages;
  };
  expect(await paths({})).toEqual(["etc/out.txt", ""]);
  expect(await paths({ collection: "stages", name: "s" })).toEqual(["/etc/out.txt"]);
});

test("15.22 the idempotent example runs once and is skipped then", async () => {
  const templates = [aTemplate("setup.tmpl", 'export RS_TOKEN="{{.GenerateInfiniteToken}}"')];
  const text = '{{template "setup.tmpl" .}}\nif [[ {{.Param "reboot-test-skip"}} == true ]]; then';
  const token = `export RS_TOKEN="machine m.example.com ${3 * 365 * 24 * 3600}"\n`;
  const params = [{ Name: "reboot-test-skip", Schema: { type: "boolean", default: false } }];
  expect(await script(text, { templates, params })).toBe(`${token}if [[ false == true ]]; then`);
  expect(await script(text, { templates, params }, { Params: { "reboot-test-skip": true } })).toBe(
    `${token}if [[ true == true ]]; then`,
  );
});

test("14: required params that do not resolve are refused, one message each", async () => {
  const world = worldOf({
    tasks: [aTask({ RequiredParams: ["a", "b", "c"], Templates: [aTemplateInfo({ Contents: "x" })] })],
  });
  expect(await renderer.actions(world, subjectOf({ machine: aMachine({ Params: { b: null } }) }))).toEqual({
    ok: false,
    error: {
      Model: "tasks",
      Key: "t",
      Type: "ValidationError",
      Messages: ["Missing required parameter a for tasks t", "Missing required parameter c for tasks t"],
      Code: 422,
    },
  });
});

test("every template that fails has its message", async () => {
  const infos = [
    aTemplateInfo({ Name: "p", Path: '{{.Param "a"}}', Contents: "x" }),
    aTemplateInfo({ Name: "c", Contents: "{{.Nothing}}" }),
  ];
  const rendered = await renderer.actions(withTemplates(infos), subjectOf({}));
  expect(rendered.ok ? [] : rendered.error.Messages).toEqual([
    'Error rendering template p path {{.Param "a"}}: template: p:1:2: executing "p" at <.Param>: error calling Param: No such machine parameter a',
    'template: c:1:2: executing "c" at <.Nothing>: can\'t evaluate field Nothing in type *rebar.RenderData',
  ]);
});

test("14: a template that does not parse is found before it is stored", async () => {
  const world = worldOf({});
  const infos = [
    { Name: "a", Contents: "{{if}}" },
    { Name: "b", Path: "{{", Contents: "fine" },
    { Name: "c", ID: "elsewhere" },
  ];
  expect(await renderer.check(world.send("tasks", aTask({ Templates: infos })))).toEqual([
    "Error compiling path template b ({{): template: b:1: unclosed action",
    "Error parsing inline templates: template: a:1: missing value for if",
  ]);
  expect(await renderer.check(world.send("templates", aTemplate("t", '{{define "x"}}{{end}}{{nope}}')))).toEqual([
    'Parse error: template: t:1: function "nope" not defined',
  ]);
  expect(await renderer.check(world.send("bootenvs", { Name: "b", BootParams: "{{end}}" }))).toEqual([
    "Error compiling boot parameter template: template: machine:1: unexpected {{end}}",
  ]);
});

test("the machine has its fields and what is made of them", async () => {
  const machine = { Address: "192.168.1.10", Profiles: ["p"], Tasks: ["a", "b"], CurrentTask: 1, Meta: { x: "y" } };
  const lines = {
    ".Machine.Name": "m.example.com",
    ".Machine.ShortName": "m",
    ".Machine.UUID": uuid,
    ".Machine.Path": `machines/${uuid}`,
    ".Machine.Url": `http://10.0.0.1:8091/machines/${uuid}`,
    ".Machine.HexAddress": "C0A8010A",
    "slice .Machine.Tasks .Machine.CurrentTask | first": "b",
    'has "p" .Machine.Profiles': "true",
    ".Machine.Meta | toJson": '{"x":"y"}',
    ".Machine.Params.k": "v",
    '.Machine.MacAddr "pxelinux"': "",
    ".Stage.Name": "none",
    ".Task.Name": "t",
    ".Info.Version": "v4.8.0",
    ".ProvisionerAddress": "10.0.0.1",
    '.ParseUrl "host" .ApiURL': "10.0.0.1:8092",
    '.NetmaskToCIDR "255.255.254.0"': "23",
  };
  const text = Object.keys(lines).map((call) => `{{${call}}}`);
  expect(await script(text.join("\n"), { stages: [aStage({})] }, { ...machine, Params: { k: "v" } })).toBe(
    Object.values(lines).join("\n"),
  );
});

test("values can be written as JSON and YAML, expanded and composed", async () => {
  const objects = {
    profiles: [
      aProfile({ Name: "p", Params: { m: { a: { y: 2 }, b: 2 }, l: ["x"], s: 1 } }),
      aProfile({ Name: "global", Params: { m: { a: { y: 3, z: 3 } }, l: ["x", "z"], s: 2 } }),
    ],
  };
  const Params = { m: { a: { x: 1 } }, e: { name: ["{{.Machine.Name}}"] }, "composed-e": ["{{.Param `s`}}"] };
  const show = (text: string) => script(text, objects, { Profiles: ["p"], Params });
  expect(await show('{{.ParamAsJSON "e"}}{{.ParamAsYAML "l"}}')).toBe('{"name":["{{.Machine.Name}}"]}\n- x\n');
  expect(await show('{{.ParamExpand "e" | toJson}}{{.StringExpand "{{.Machine.ShortName}}"}}')).toBe(
    '{"name":["m.example.com"]}m',
  );
  expect(await show('{{.ObjectExpand (list "{{.ProvisionerURL}}") | first}}')).toBe("http://10.0.0.1:8091");
  expect(await show('{{.ComposeParam "m" | toJson}}{{.ParamCompose "l" | toJson}}')).toBe(
    '{"a":{"x":1,"y":2,"z":3},"b":2}["x","x","z"]',
  );
  expect(await show('{{.ParamComposeExpand "composed-e" | toJson}}')).toBe('["1"]');
  expect(await show('{{.ComposeParam "s"}}')).toMatch(/error calling ComposeParam: Cannot compose freeform$/);
});

test("a boot environment knows its files, by architecture and protocol", async () => {
  const bootEnv = {
    Name: "centos-7-install",
    Kernel: "vmlinuz",
    Initrds: ["a.img", "b.img"],
    BootParams: "ks={{.Machine.Url}} {{.Env.InstallUrl}}",
    OS: { Name: "centos-7", SupportedArchitectures: { aarch64: { Kernel: "Image" } } },
  };
  const repositories = [
    { tag: "install", os: ["centos-7"], arch: "x86_64", url: "http://mirror/7", installSource: true },
    { tag: "more", os: ["centos-7"], arch: "any", url: "http://mirror", distribution: "7", components: ["os"] },
  ];
  const text = [
    '{{.Env.PathFor "http" .Env.Kernel}} {{.Env.PathForArch "tftp" (.Env.KernelFor "arm64") "arm64"}}',
    '{{.Env.JoinInitrds "tftp"}} {{.Env.OS.FamilyType}} {{.Env.OS.VersionEq "7"}}',
    "{{.BootParams}}",
    "{{range .MachineRepos}}{{.Lines}}{{end}}{{range .InstallRepos}}{{.Install}}{{end}}",
  ].join("\n");
  const machine = { OS: "centos-7", Params: { "package-repositories": repositories } };
  expect(await inBootEnv(bootEnv, text, machine)).toBe(
    [
      "http://10.0.0.1:8091/centos-7/install/vmlinuz centos-7/arm64/install/Image",
      "centos-7/install/a.img centos-7/install/b.img rhel true",
      `ks=http://10.0.0.1:8091/machines/${uuid} http://mirror/7`,
      "",
      "[install]",
      "name=centos-7 - install",
      "baseurl=http://mirror/7",
      "gpgcheck=0",
      "",
      "[more-os]",
      "name=more - os",
      "baseurl=http://mirror/7/os/$basearch",
      "gpgcheck=0",
      "install",
      "url --url http://mirror/7",
      'repo --name="install" --baseurl=http://mirror/7 --cost=100',
      "",
    ].join("\n"),
  );
  expect(await inBootEnv(bootEnv, "{{.Env.InstallUrl}}")).toMatch(/No install repository available$/);
});

test("an installation tree of the server comes before the repositories of others", async () => {
  const security = { tag: "s", os: ["debian-9"], arch: "any", url: "http://s/d", securitySource: true };
  const elsewhere = { tag: "i", os: ["debian-9"], arch: "amd64", url: "http://m/d", installSource: true };
  const machine = { OS: "debian-9", Params: { "package-repositories": [elsewhere, security] } };
  const text = "{{.Env.InstallUrl}} {{len .MachineRepos}}\n{{range .InstallRepos}}{{.Install}}{{end}}";
  expect(await inBootEnv({ Name: "debian-9-install", OS: { Name: "debian-9" } }, text, machine)).toBe(
    [
      "http://10.0.0.1:8091/debian-9/install 1",
      "d-i mirror/protocol string http",
      "d-i mirror/http/hostname string 10.0.0.1:8091",
      "d-i mirror/http/directory string /debian-9/install",
      "d-i apt-setup/security_host string s",
      "d-i apt-setup/security_path string /d",
      "",
    ].join("\n"),
  );
});

test("a boot environment is rendered for a known interface, and without a machine", async () => {
  const infos = [aTemplateInfo({ Name: "p", Path: 'cfg/{{.Machine.MacAddr "pxelinux"}}', Contents: "{{.ApiURL}}" })];
  const unknown = [
    aTemplateInfo({
      Name: "u",
      Path: "default",
      Contents: '{{.GenerateToken}},{{.GenerateInfiniteToken}},{{.Param "k"}}',
    }),
    aTemplateInfo({ Name: "l", Path: "kernel", Link: '{{.Env.PathFor "tftp" "k"}}' }),
  ];
  const world = worldOf({
    bootenvs: [
      { Name: "b", Templates: infos },
      { Name: "u", Templates: unknown },
    ],
    profiles: [aProfile({ Name: "global", Params: { k: 1 } })],
  });
  const urls = { provisionerUrl: "http://p", apiUrl: "https://a" };
  expect(
    await renderer.actions(world, subjectOf({ collection: "bootenvs", name: "b", mac: "00:00:00:00:00:01", urls })),
  ).toEqual({ ok: true, value: [{ Name: "p", Path: "/cfg/01-00-00-00-00-00-01", Content: "https://a", Meta: {} }] });
  expect(
    await renderer.actions(world, subjectOf({ collection: "bootenvs", name: "u", machine: undefined })),
  ).toMatchObject({
    ok: true,
    value: [
      { Path: "/default", Content: "machine none 600,,1" },
      { Path: "/kernel", Content: "", Link: "k" },
    ],
  });
});

test("one path of a boot environment is rendered, whatever is wrong with others", async () => {
  const infos = [
    aTemplateInfo({ Name: "a", Path: '{{.Param "none"}}', Contents: "a" }),
    aTemplateInfo({ Name: "b", Path: "b/{{.Machine.Name}}", Contents: "b" }),
    aTemplateInfo({ Name: "c", Path: "c", Contents: '{{.Param "none"}}' }),
  ];
  const world = worldOf({ bootenvs: [{ Name: "b", Templates: infos }] });
  const at = (path: string) => renderer.actions(world, subjectOf({ collection: "bootenvs", name: "b", path }));
  expect(await at("/b/m.example.com")).toMatchObject({ ok: true, value: [{ Name: "b", Content: "b" }] });
  expect(await at("/d")).toEqual({ ok: true, value: [] });
  expect((await at("/c")).ok).toBe(false);
});

test("tokens of profiles are for machines that have the profile", async () => {
  const text = '{{.GenerateProfileToken "p" 7200}},{{.GenerateProfileToken "q" 0}},{{.GenerateProfileToken "r" 1}}';
  expect(await script(text, { profiles: [aProfile({})] }, { Profiles: ["p", "r"] })).toBe(
    "profile p 7200,InvalidTokenNotAllowedNotOnMachine,InvalidTokenNotAllowedNoProfile",
  );
  expect(await script("{{.GenerateToken}}")).toBe("machine m.example.com 3600");
});

test("sealed values are opened for tasks, and stay sealed for what is served to everybody", async () => {
  const k = { ...seal(keys.publicKey, { secret: "s3cret" }, (length) => randomBytes(length)) };
  const infos = [aTemplateInfo({ Contents: '{{(.Param "k").secret}}' })];
  const world = withTemplates(infos, {
    params: [{ Name: "k", Secure: true }],
    stages: [aStage({ Name: "s", Templates: infos })],
  });
  const machine = aMachine({ Params: { k } });
  expect(textOf(await renderer.actions(world, subjectOf({ machine })))).toBe("s3cret");
  expect(textOf(await renderer.actions(world, subjectOf({ machine, collection: "stages", name: "s" })))).toMatch(
    /map has no entry for key "secret"$/,
  );
  const other = aMachine({ Uuid: "other", Params: { k } });
  expect(textOf(await renderer.actions(world, subjectOf({ machine: other })))).toMatch(
    /error calling Param: a secure param of other cannot be opened$/,
  );
});

test("templates that call themselves end in an error, however they do it", async () => {
  const templates = [aTemplate("loop", "{{.CallTemplate .Machine.Stage .}}")];
  expect(await script('{{.CallTemplate "loop" .}}', { templates }, { Stage: "loop" })).toMatch(
    /templates call each other more than 100 deep$/,
  );
  expect(await script('{{template "script" .}}')).toMatch(/exceeded maximum template depth \(1000\)$/);
  expect(await script('{{range until 9000}}{{repeat 1000 "x"}}{{end}}')).toMatch(
    /the rendered text is over \d+ bytes$/,
  );
});

test("a panic in a function is an error of the template", async () => {
  expect(await script("{{first 1}}")).toMatch(/^failed: template: script:1:2: .*first/);
  expect(await script("{{.Env.Kernel}}", {}, { BootEnv: "gone" })).toMatch(
    /^failed: template: script:1:6: .*nil pointer/,
  );
});

test("a changed template, and a new one, are seen; an equal rendering asks once", async () => {
  const of = (text: string) => ({ templates: [aTemplate("x", text)] });
  const task = aTask({ Templates: [aTemplateInfo({ Contents: '{{template "x" .}}{{.Param (print "k")}}' })] });
  const render = (objects: Sent) =>
    renderer.actions(worldOf({ tasks: [task], ...objects }), subjectOf({ machine: aMachine({ Params: { k: 1 } }) }));
  expect(textOf(await render({}))).toMatch(/not defined$/);
  expect(textOf(await render(of("a")))).toBe("a1");
  const again = of("b");
  expect(textOf(await render(again))).toBe("b1");
  const before = asked;
  expect(textOf(await render(again))).toBe("b1");
  expect(asked - before).toBe(1);
});

test("large values are sent once, and what templates do to them stays in the rendering", async () => {
  const Params = { m: { text: "x".repeat(1000) } };
  const text = '{{$_ := set (.Param "m") "more" 1}}{{len (.Param "m")}}{{with .Param "m"}}{{len .text}}{{end}}';
  expect(await script(text, {}, { Params })).toBe("11000");
  expect(await script(text, {}, { Params })).toBe("11000");
});

test("a task that does not exist is refused", async () => {
  const rendered = await renderer.actions(worldOf({}), subjectOf({ name: "stage:x" }));
  expect(rendered.ok ? 0 : rendered.error).toMatchObject({ Code: 422, Messages: ["Task stage:x does not exist"] });
});
