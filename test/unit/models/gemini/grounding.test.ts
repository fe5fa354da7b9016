import { describe, expect, test } from "vitest";
import { groundName, groundStatement, isGrounded, sourcePieces } from "../../../../src/models/gemini/grounding.ts";
import { Pace } from "../../../../src/models/pace.ts";
import { turnsDuring } from "../../../support/turns.ts";

const pace = new Pace(new AbortController().signal);

const source = (seq: number, text: string, more: { role?: string; name?: string } = {}) => {
  return { seq, role: "user", name: undefined, text, ...more };
};

const PIECES = sourcePieces({
  previous: [
    {
      title: "The login page",
      text: [
        "The deploy to eu-west-1 failed twice. [1-2]",
        "The limit is 9,000 requests. [unverified] [2]",
        "A line of another summarizer that cites nothing at all",
        "files: src/deploy.ts [1], ci.yml [2]",
      ].join("\n"),
    },
  ],
  sources: [
    source(5, "Keep the old host as a fallback for a week."),
    source(6, "LOGIN_DB_URL pointed at db1; it is in config/production.yaml.", { role: "assistant" }),
    source(7, "error: connect ECONNREFUSED 10.0.0.7:5432 after 1500ms", { role: "tool", name: "bash" }),
  ],
});

const statement = (text: string, ...seqs: number[]) => groundStatement({ text, seqs }, PIECES, pace);
const found = (text: string, seqs: number[], isVerified = true) => ({ text, seqs, isVerified });
const name = (text: string, ...seqs: number[]) => groundName({ text, seqs }, PIECES, pace);

describe("a statement", () => {
  test("keeps the citations of what was given, and of what earlier summaries cite", async () => {
    expect(await statement("The old host stays.", 5)).toEqual(found("The old host stays.", [5]));
    expect((await statement("The deploy failed and the old host stays.", 2, 5))?.seqs).toEqual([2, 5]);
  });

  test("loses citations of anything else", async () => {
    expect(await statement("The old host stays.", 5, 99, -1)).toEqual(found("The old host stays.", [5]));
  });

  test("is attached to the message that has its identifier, where the cited ones have not", async () => {
    expect((await statement("LOGIN_DB_URL was wrong.", 5))?.seqs).toEqual([5, 6]);
    expect((await statement("The deploy to eu-west-1 failed.", 5))?.seqs).toEqual([5, 1, 2]);
    expect(await statement("It ended with ECONNREFUSED.")).toMatchObject({ seqs: [7], isVerified: true });
  });

  test("without a valid citation is attached to the text that has half of its words", async () => {
    expect(await statement("Keep the old host as a fallback.", 99)).toMatchObject({ seqs: [5], isVerified: true });
    expect(await statement("Another summarizer cites nothing at all.")).toMatchObject({ seqs: [], isVerified: true });
  });

  test("that nothing speaks for is not verified", async () => {
    expect(await statement("The moon is made of cheese.")).toEqual(found("The moon is made of cheese.", [], false));
  });

  test("with a number, path or identifier that stands nowhere is kept and not verified", async () => {
    for (const text of ["It took 1501 ms.", "It is in config/staging.yaml.", "resetHost was called."]) {
      expect(await statement(text, 6)).toEqual({ text, seqs: [6], isVerified: false });
    }
  });

  test("with a figure of one or two digits is verified by its own sources alone", async () => {
    const pieces = sourcePieces({
      previous: [],
      sources: [source(0, "There are 7 hosts."), source(1, "We keep 12 backups for 365 days.")],
    });
    const verified = async (text: string, ...seqs: number[]) =>
      (await groundStatement({ text, seqs }, pieces, pace))?.isVerified;
    expect(await verified("There are 7 hosts.", 0)).toBe(true);
    expect(await verified("There are 7 hosts.")).toBe(true); // its words are those of the first
    expect(await verified("There are 12 hosts.", 0)).toBe(false);
    expect(await verified("There are 12 hosts and 365 days.", 0)).toBe(true); // the second is brought in
  });

  test("may write a figure with commas or another unit", async () => {
    expect(await statement("It took 1,500 ms.", 7)).toEqual(found("It took 1,500 ms.", [7]));
  });

  test("gets the spelling that a name has in the source", async () => {
    expect((await statement("login_db_url was wrong, see Config/Production.yaml.", 6))?.text).toBe(
      "LOGIN_DB_URL was wrong, see config/production.yaml.",
    );
  });

  test("gets it for that name alone, not for longer ones that hold it", async () => {
    const text = "On dev2 runs V2, not v2.1 of api/v2; my_api_key is no api_KEY.";
    const pieces = sourcePieces({ previous: [], sources: [source(0, text)] });
    const spelled = async (said: string) => (await groundStatement({ text: said, seqs: [0] }, pieces, pace))?.text;
    expect(await spelled("dev2 runs v2; API_key is not my_api_key.")).toBe("dev2 runs v2; api_KEY is not my_api_key.");
    const upper = sourcePieces({
      previous: [],
      sources: [source(0, "dev2 runs V2, and Lib/V2.md says so")],
    });
    const said = { text: "On dev2 runs v2, see lib/v2.md and old/v2.md.", seqs: [0] };
    expect((await groundStatement(said, upper, pace))?.text).toBe("On dev2 runs V2, see Lib/V2.md and old/v2.md.");
  });

  test("is no evidence in an earlier summary if it was marked there", async () => {
    expect(await statement("The limit is 9,000 requests.", 1)).toMatchObject({ isVerified: false });
  });

  test("loses the label, the citations and the line breaks that the model wrote into it", async () => {
    expect(await statement("Decided: keep the\nold host. [5]")).toEqual(found("keep the old host.", [5]));
  });

  test("without words is none", async () => {
    expect(await statement(" … [5]", 5)).toBeUndefined();
  });
});

describe("a name in a list", () => {
  test("cites those of its messages that have it", async () => {
    expect(await name("config/production.yaml", 5, 6)).toEqual(found("config/production.yaml", [6]));
  });

  test("cites the first message that has it, if the model cites none of them", async () => {
    expect((await name("src/deploy.ts", 7))?.seqs).toEqual([1]);
    expect((await name("ci.yml"))?.seqs).toEqual([2]);
    expect((await name("bash"))?.seqs).toEqual([7]);
  });

  test("is looked for without the quotes and parentheses that models put around it", async () => {
    expect((await name("`LOGIN_DB_URL()`", 6))?.text).toBe("LOGIN_DB_URL");
  });

  test("is left out if it stands nowhere, or could not be read back", async () => {
    expect(await name("src/login.ts", 6)).toBeUndefined();
    expect(await name("a, b", 6)).toBeUndefined();
    expect(await name("", 6)).toBeUndefined();
  });
});

test("a title may name what stands somewhere, and nothing else", () => {
  expect(isGrounded("LOGIN_DB_URL and the old host", PIECES)).toBe(true);
  expect(isGrounded("The 3 hosts of eu-west-2", PIECES)).toBe(false);
});

describe("a long conversation", () => {
  const sources = Array.from({ length: 1_500 }, (_, seq) =>
    source(seq, `Message ${seq} tells of foo_${seq} and of nothing that any other message has.`),
  );
  const pieces = sourcePieces({ previous: [], sources });
  const groundAll = async (ground: typeof groundName, textOf: (index: number) => string) => {
    for (let index = 0; index < 60; index++) await ground({ text: textOf(index), seqs: [index] }, pieces, pace);
  };

  test("is searched for names with pauses in which others run", async () => {
    // 60 times 6,000 characters' worth of looking, 16,000 between two pauses.
    expect(await turnsDuring(groundAll(groundName, (index) => `foo_${index}`))).toBeGreaterThanOrEqual(19);
    expect(
      await turnsDuring(groundAll(groundStatement, (index) => `It tells of foo_${index}.`)),
    ).toBeGreaterThanOrEqual(19);
  });

  test("is compared with a statement with pauses in which others run", async () => {
    // 1,500 texts of about 70 characters are read once.
    const once = sourcePieces({ previous: [], sources });
    const said = { text: "Nobody says anything like that.", seqs: [] };
    expect(await turnsDuring(groundStatement(said, once, pace))).toBeGreaterThanOrEqual(5);
  });
});
