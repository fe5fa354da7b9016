-- Settings hold only numbers and the words of strategies, written by JSON.stringify, so a name in quotes before a colon is a key.
UPDATE sessions SET settings =
  replace(replace(replace(replace(replace(replace(replace(settings,
    '"maximumTokenLimit":', '"messageTokensMax":'),
    '"normalTokenLimit":', '"oldMessageTokensMax":'),
    '"targetRetainedTokens":', '"recentTokensMax":'),
    '"topPreserveThreshold":', '"sandwichHead":'),
    '"preserveThreshold":', '"sandwichTail":'),
    '"toolResponsePreviewGraphemes":', '"toolPreviewCharsMax":'),
    '"middleMessagesMin":', '"sandwichMessagesMin":');
