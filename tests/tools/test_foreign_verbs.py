import pytest

from tools.disguised_names import find_foreign_verbs

WRITING = [
    "dateien_löschen", "LöschenDatei", "supprimer_fichier", "borrarArchivo", "eliminar-usuario",
    "cancella_file", "verwijderBestand", "usuń_plik", "smazat_soubor", "dosyayı_sil", "hapus_data",
    "xóa_tệp", "удалить_файл", "УдалитьФайл", "видалити", "διαγραφή_αρχείου", "删除文件",
    "刪除檔案", "ファイルを削除", "파일삭제", "حذف_ملف", "إنشاء", "מחק_קובץ", "फ़ाइल_हटाएं", "ลบไฟล์",
    "udalit_fail", "shanchu_wenjian", "sakujo_file", "envoyer_message", "overschrijven",
]  # fmt: skip
READING = [
    "get_weather", "borrow_terms", "list_creek_levels", "envoy_status", "read_public_key",
    "wetter_abfragen", "buscar_archivos", "obtenir_meteo", "天气查询", "天気", "날씨", "погода",
    "get_anderson_index", "executive_summary", "platform_list", "последние_новости", "",
]  # fmt: skip


@pytest.mark.parametrize("name", WRITING)
def test_common_verbs_of_writing_are_found_in_many_languages(name):
    assert find_foreign_verbs(name)


@pytest.mark.parametrize("name", READING)
def test_other_words_and_their_parts_are_not_taken_for_verbs_of_writing(name):
    assert find_foreign_verbs(name) == ()
