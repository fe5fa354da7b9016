const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ALPHABETS = {
  base32: `${LETTERS}234567`,
  word: `${LETTERS}${LETTERS.toLowerCase()}0123456789`,
  hex: "0123456789abcdef",
};

/** Returns characters that look random and are always the same. A real token never stands in the repository. */
export function randomLooking(length: number, alphabet: keyof typeof ALPHABETS = "word", seed = 1): string {
  let state = seed * 2_654_435_761;
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const characters = ALPHABETS[alphabet];
    return characters[Math.floor((state / 2 ** 31) * characters.length)];
  }).join("");
}

/** A secret of each of some kinds. */
export const SECRETS: Readonly<Record<string, string>> = {
  "aws-access-key": `AKIA${randomLooking(16, "base32")}`,
  "github-token": `ghp_${randomLooking(36)}`,
  "github-fine-grained-token": `github_pat_${randomLooking(82)}`,
  "anthropic-api-key": `sk-ant-api03-${randomLooking(93)}AA`,
  "openai-api-key": `sk-proj-${randomLooking(74)}T3BlbkFJ${randomLooking(74)}`,
  "google-api-key": `AIza${randomLooking(35)}`,
  "slack-token": `xoxb-${randomLooking(12, "hex")}-${randomLooking(24)}`,
  "stripe-key": `sk_live_${randomLooking(24)}`,
  "npm-token": `npm_${randomLooking(36)}`,
  "gitlab-token": `glpat-${randomLooking(20)}`,
  "huggingface-token": `hf_${randomLooking(34).replace(/\d/g, "x")}`,
  jwt: `eyJ${randomLooking(30)}.eyJ${randomLooking(60)}.${randomLooking(43)}`,
  "private-key": `-----BEGIN RSA PRIVATE KEY-----\n${randomLooking(64)}\n${randomLooking(64)}\n-----END RSA PRIVATE KEY-----`,
};
