package text

// The most frequent words of languages that say little by themselves: articles, pronouns, prepositions
// and auxiliaries. A text's language is recognized by them, so that words which several languages share
// are in each of their lists.
const (
	englishWords = `a about above after again against all am an and any are as at be because been before being below between both
but by can could did do does doing don down during each few for from further had has have having he her here hers herself him
himself his how i if in into is it its itself just ll m me more most my myself no nor not now of off on once only or other our
ours ourselves out over own re s same she should so some such t than that the their theirs them themselves then there these they
this those through to too under until up ve very was we were what when where which while who whom why will with would you your
yours yourself yourselves d didn doesn isn wasn aren weren hasn haven hadn won wouldn couldn shouldn`
	arabicWords = `في من على إلى عن مع هذا هذه ذلك التي الذي الذين ما لا لم لن إن أن كان كانت قد كل بعد قبل بين عند حتى ثم أو و هو هي هم نحن
أنت أنا كما لكن حيث إذا منذ غير بعض أي ماذا متى أين كيف كم لماذا هل فيه فيها به بها له لها منه منها عليه عليها وقد وكان وفي ومن`
	danishWords = `og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde ham hun nu over da
fra du ud sin dem os op man hans hvor eller hvad skal selv her alle vil blev kunne ind når være dog noget ville jo deres efter ned skulle
denne end dette mit også under have dig anden hende mine alt meget sit sine vor mod disse hvis din nogle hos blive mange ad bliver hendes
været thi jer sådan`
	dutchWords = `de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om hem dan zou of wat mijn men dit zo
door over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft hebben deze u want nog zal me zij nu ge geen omdat iets worden toch
al waren veel meer doen toen moet ben zonder kan hun dus alles onder ja eens hier wie werd altijd doch wordt wezen kunnen ons zelf tegen na
reeds wil kon niets uw iemand geweest andere wanneer waar waarom welke`
	finnishWords = `ja on ei se että hän oli ovat olla olen olet olemme olivat ollut mutta kun niin kuin joka jotka mitä mikä missä milloin miksi
kuka tämä tuo ne he me te minä sinä minun sinun hänen meidän teidän heidän sen siitä sitä siinä tässä tämän myös vain jos tai sekä vaan kanssa
mukaan noin yli ennen jälkeen kuinka monta mihin mistä ole eivät en et emme`
	frenchWords = `au aux avec ce ces dans de des du elle en et eux il ils je la le les leur lui ma mais me même mes moi mon ne nos notre nous
on ou par pas pour qu que qui sa se ses son sur ta te tes toi ton tu un une vos votre vous c d j l à m n s t y été étée étées étés étant suis
es est sommes êtes sont serai sera étais était étaient fut être ai as avons avez ont avait avaient eu avoir quel quelle quels quelles quand où
comment pourquoi cette cet dont plus sans sous entre aussi`
	germanWords = `aber alle als also am an ander andere auch auf aus bei bin bis bist da damit dann das dass dein dem den denn der des dessen die
dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen habe haben hat
hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes jener jetzt kann
kein keine können könnte machen man mehr mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen
seiner sich sie sind so solche soll sollte sondern sonst um und uns unser unter viel vom von vor war waren warum was weg weil weiter welche
welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wo wollen während würde würden zu zum zur zwar zwischen über wann
wurde wurden`
	hungarianWords = `a az egy és hogy nem is volt de meg ez azt csak el már ki még mint ha vagy mi be van fel aki ami amely ezt en én te ő mi ti ők
minden majd lesz lett sem sok után között alatt által azok ezek ennek annak amit akkor mert így úgy itt ott hol mikor miért hogyan mennyi milyen
melyik kell lehet volna voltak vannak nagyon igen le fel át mit kit`
	italianWords = `ad al allo ai agli alla alle con col da dal dallo dai dagli dalla dalle di del dello dei degli della delle in nel nello nei negli
nella nelle su sul sullo sui sugli sulla sulle per tra contro io tu lui lei noi voi loro mio mia miei mie tuo tua suo sua suoi sue nostro nostra
mi ti ci vi lo la li le gli ne il un uno una ma ed se perché anche come dov dove che chi cui non più quale quanto quanti quanta quante quello
quelli quella quelle questo questi questa queste si tutto tutti a c e i l o ho hai ha abbiamo hanno è sono sei siamo era erano essere stato quando
fu furono`
	norwegianWords = `og i jeg det at en et den til er som på de med han av ikke ikkje der så var meg seg men ett har om vi min mitt ha hadde hun nå
over da ved fra du ut sin dem oss opp man kan hans hvor eller hva skal selv her alle vil bli ble blitt kunne inn når være kom noen noe ville dere
deres kun ja etter ned skulle denne for deg si sine sitt mot å meget hvorfor dette disse uten hvordan ingen din ditt blir samme hvilken hvilke
sånn inni mellom vår hver hvem vors hvis både bare enn fordi før mange også slik vært begge siden henne`
	portugueseWords = `de a o que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu sua ou quando muito nos já eu
também só pelo pela até isso ela entre depois sem mesmo aos seus quem nas me esse eles você essa num nem suas meu às minha numa pelos elas qual
nós lhe deles essas esses pelas este dele tu te vocês vos lhes meus minhas teu tua nosso nossa dela delas esta estes estas aquele aquela isto
aquilo estou está estamos estão estava era eram foi foram ser sou somos são tem têm tinha onde porque quantos quanto`
	romanianWords = `și în de la cu pe nu că o un a se este au din mai ce care al sau dar fi ca sunt pentru lui ai ale cel cea cei cele era erau fost
într între după prin până dacă când unde cum cât câți câte cine astfel acest această aceste acesta aceasta aceștia acel acea își îi îl le ei el ea
ele eu tu noi voi lor sa său sale săi avea are am ați ar fără foarte tot toate toți doar numai atunci apoi asupra către despre fiind fie unei unui
unor`
	russianWords = `и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет о из ему
теперь когда даже ну вдруг ли если уже или ни быть был него до вас нибудь опять уж вам ведь там потом себя ничего ей может они тут где есть надо
ней для мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет ж тогда кто этот того потому этого какой совсем ним здесь этом один
почти мой тем чтобы нее сейчас были куда зачем всех никогда можно при наконец два об другой хоть после над больше тот через эти нас про всего них
какая много разве три эту моя впрочем хорошо свою этой перед иногда лучше чуть том нельзя такой им более всегда конечно всю между какие каком
сколько`
	spanishWords = `de la que el en y a los del se las por un para con no una su al lo como más pero sus le ya o este sí porque esta entre cuando muy
sin sobre también me hasta hay donde quien desde todo nos durante todos uno les ni contra otros ese eso ante ellos e esto mí antes algunos qué unos
yo otro otras otra él tanto esa estos mucho quienes nada muchos cual poco ella estar estas algunas algo nosotros mi mis tú te ti tu tus ellas
vosotros os mío tuyo suyo nuestro nuestra es soy eres somos son era eran fue fueron ser está están estaba he has ha hemos han había cuándo dónde
cómo cuál cuáles cuánto cuántos cuántas quién`
	swedishWords = `och det att i en jag hon som han på den med var sig för så till är men ett om hade de av icke mig du henne då sin nu har inte hans
honom skulle hennes där min man ej vid kunde något från ut när efter upp vi dem vara vad över än dig kan sina här ha mot alla under någon eller allt
mycket sedan ju denna själv detta åt utan varit hur ingen mitt ni bli blev oss din dessa några deras blir mina samma vilken er sådan vår blivit
dess inom mellan sådant varför varje vilka ditt vem vilket vart`
	turkishWords = `ve bir bu da de için ile o olarak çok daha en gibi kadar sonra ne mi mı mu mü ama ancak her hiç ben sen biz siz onlar onun bunun
şu olan oldu olduğu olduğunu oldukları değil ise ya veya hem nasıl neden nerede ne zaman kim hangi kaç tarafından arasında önce göre diye ki var
yok idi ettiği edilen ayrıca üzerinde içinde bunu onu bana sana beni seni`
	indonesianWords = `yang dan di dari ini itu untuk dengan pada adalah dalam tidak akan ke oleh juga atau sebagai ada saya kamu kami kita mereka dia
bisa dapat telah sudah seperti lebih karena apa siapa kapan bagaimana mengapa saat bahwa lain belum`
	polishWords = `i w z na do nie się że to jest o jak za po co tak ale od przez dla są był była było były być go jego jej ich czy tym tego który która
które których tylko ten ta te już może oraz lub przed pod nad kiedy gdzie kto dlaczego ile mnie ja ty my wy oni bardzo także`
	vietnameseWords = `và của là có không được cho một trong các những với người này đã để từ khi đến vào như cũng ra nhiều bị về theo ông năm đó thì
mà tại sau trên lại nào gì ai bao nhiêu đâu vì sao rất tôi bạn chúng họ`
)
